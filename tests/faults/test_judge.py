"""test_judge.py - what judges the cells of the kill matrix sees what is wrong, and only that."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cells import all_cells, promise  # noqa: E402
from judge import FOREIGN, PIECE, STALE, Piece, Seen, words_of  # noqa: E402
from mechanisms import check as check_mechanisms  # noqa: E402
from page import Page, check_quotations  # noqa: E402
from soak import Where  # noqa: E402

GOOD = f"begin 0 {PIECE} 1\nend 0 {PIECE} 1 0 \ntold sync 0 \nbegin 0 {PIECE} 2\n"
ENDED = f"end 0 {PIECE} 2 0 \n"


class Judge(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        os.mkdir(self.dir.name + "/root")

    def tearDown(self):
        self.dir.cleanup()

    def seen(self, record, data, log="", killed=False):
        for rank, text in enumerate([record, "", ""]):
            with open(f"{self.dir.name}/rank.{rank}", "w") as f:
                f.write(text)
        with open(self.dir.name + "/root/f", "wb") as f:
            f.write(data)
        with open(self.dir.name + "/job.log", "w") as f:
            f.write(log)
        return Seen(Where(self.dir.name), killed=killed)

    def test_the_last_write_is_right(self):
        seen = self.seen(GOOD + ENDED, words_of(0, 2))
        self.assertEqual((seen.wrong, seen.errors, seen.verified), ([], [], PIECE))

    def test_an_older_write_is_stale(self):
        seen = self.seen(GOOD + ENDED, words_of(0, 1))
        self.assertEqual(seen.wrong, [(0, PIECE, STALE)])

    def test_a_byte_that_nobody_wrote_is_foreign(self):
        data = bytearray(words_of(0, 2))
        data[4099] ^= 1
        self.assertEqual(self.seen(GOOD + ENDED, data).wrong, [(4096, 8, FOREIGN)])

    def test_bytes_of_another_place_are_foreign(self):
        self.assertEqual(self.seen(GOOD + ENDED, words_of(PIECE, 2)).wrong, [(0, PIECE, FOREIGN)])

    def test_what_is_missing_is_stale(self):
        seen = self.seen(GOOD + ENDED, words_of(0, 2)[:-16])
        self.assertEqual(seen.wrong, [(PIECE - 16, 16, STALE)])

    def test_a_write_that_failed_may_be_there_in_part(self):
        failed = GOOD + f"end 0 {PIECE} 2 32 no space\n"
        mixed = words_of(0, 2)[:800] + words_of(0, 1)[800:]
        seen = self.seen(failed, mixed)
        self.assertEqual((seen.wrong, seen.errors), ([], ["no space "]))
        self.assertEqual(self.seen(failed, bytes(PIECE)).wrong, [(0, PIECE, STALE)])

    def test_what_was_synced_outlives_the_job(self):
        for gen in (1, 2):
            self.assertEqual(self.seen(GOOD, words_of(0, gen), killed=True).wrong, [])
        self.assertEqual(self.seen(GOOD, bytes(PIECE), killed=True).wrong, [(0, PIECE, STALE)])

    def test_ranges_are_named_by_errors_and_logs(self):
        seen = self.seen(GOOD + "told close 32 8 bytes within 0-7 may be lost: it died\n", b"",
                         log="lost: 1M of /f: within bytes 8-99, 200-299: no\n")
        self.assertTrue(seen.is_named(0, 100))
        self.assertFalse(seen.is_named(0, 101))
        self.assertTrue(seen.is_named_in_part(150, 51))
        self.assertFalse(seen.is_named_in_part(100, 100))

    def test_a_rank_reads_what_its_neighbour_wrote(self):
        wrote, read = GOOD + ENDED + f"read 99 {PIECE} 0 0\n", f"read 0 {PIECE} 0 "
        for gens, kinds in (("2", []), ("1", [STALE]), ("2,bad", [FOREIGN])):
            self.seen(wrote, words_of(0, 2))
            with open(self.dir.name + "/rank.2", "w") as f:
                f.write(read + gens + "\n")
            seen = Seen(Where(self.dir.name))
            self.assertEqual([w[2] for w in seen.misread if w[0] == 0], kinds)


class Reverted(unittest.TestCase):
    def test_a_write_older_than_a_stored_one_is_known(self):
        for last, least, gens, reverted in (
                (9, 7, {9}, False), (9, 7, {7, 8}, False), (9, 7, {6, 9}, True), (9, 7, {0}, True),
                (2, 254, {255, 1}, False), (2, 254, {253}, True), (9, 0, {0}, False)):
            piece = Piece()
            piece.begin(last)
            piece.least = least
            self.assertEqual(piece.is_reverted(gens), reverted, (last, least, gens))


class Cells(unittest.TestCase):
    def test_there_are_enough_and_each_has_a_promise(self):
        cells, _ = all_cells()
        self.assertGreaterEqual(len(cells), 300)
        for cell in cells:
            self.assertTrue(promise(cell)[0])

    def test_promises_are_quotations(self):
        check_quotations(os.environ["top_srcdir"] + "/doc/SEMANTICS.md")

    def test_mechanisms_have_their_tests(self):
        check_mechanisms(os.environ["top_srcdir"] + "/tests")

    def test_the_page_says_what_was_not_run(self):
        with tempfile.TemporaryDirectory() as empty:
            text = Page(empty).text()
        self.assertIn("all but matrix and sweep and soak and hosts and costs", text)
        self.assertIn(f"Of the {len(all_cells()[0])} cells of the matrix 0 were run", text)


if __name__ == "__main__":
    unittest.main(verbosity=0)
