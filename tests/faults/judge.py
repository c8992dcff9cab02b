"""judge.py - what was seen: the records of the ranks, the logs, and the file, byte for byte."""
import array
import collections
import glob
import os
import re
import sys

from world import RANKS, text_of

PIECE = 64 << 10
STALE, FOREIGN = "stale", "foreign"

NAMED = re.compile(r"(?:within (?:bytes )?|had taken: bytes )(\d+-\d+(?:, \d+-\d+)*)")


class Piece:
    """What may be in the file there."""

    def __init__(self):
        self.sure = 0         # the last write that was good
        self.maybe = set()    # later ones that failed or have not returned
        self.floor = 0        # the last one that was good when all was said to be stored
        self.later = set()    # all since
        self.last = self.least = 0  # the last write; one that was good and stored

    def begin(self, gen):
        self.maybe.add(gen)
        self.later.add(gen)
        self.last = gen

    def end(self, gen, good):
        if good:
            self.sure, self.maybe = gen, set()

    def stored(self):
        self.floor, self.later = self.sure, set(self.maybe)

    def is_reverted(self, gens):
        """Is one older than a write that was said to be stored?  They count from 1 to 255."""
        def age(gen):
            return (self.last - gen) % 255 if gen else 255

        return self.least > 0 and any(age(g) > age(self.least) for g in gens)

    def may(self):
        return {self.sure} | self.maybe

    def may_when_killed(self):
        return {self.floor} | self.later


class Record:
    """Of one rank: the pieces it wrote, what it was told, what it read."""

    def __init__(self, text, levels):
        self.pieces = collections.defaultdict(Piece)
        self.told = []        # (what, class, text)
        self.failed = []      # texts of calls that failed
        self.bursts = []      # of reads: [(off, gens)], and what was allowed when it began
        self.may = []
        self.misread = []     # [(off, bytes, kind)], that the rank has found itself
        reading = False
        for line in text.splitlines():
            word, _, rest = line.partition(" ")
            if word == "read" and not reading:
                self.bursts.append([])
                self.may.append({off: p.may() for off, p in self.pieces.items()})
            reading = word == "read"
            take = getattr(self, "take_" + word, None)
            if take:
                take(rest, levels)

    def take_begin(self, rest, _):
        off, _, gen = rest.split()
        self.pieces[int(off)].begin(int(gen))

    def take_end(self, rest, _):
        off, _, gen, code, text = (rest + " ").split(" ", 4)
        self.pieces[int(off)].end(int(gen), code == "0")
        if code != "0":
            self.failed.append(text)

    def take_stored(self, rest, _):
        off, _, gen = rest.split()
        self.pieces[int(off)].least = int(gen)

    def take_read(self, rest, _):
        off, _, code, gens = (rest + " ").split(" ", 3)
        if code == "0":
            self.bursts[-1].append((int(off), gens.strip().split(",")))
        else:
            self.failed.append("a read")

    def take_wrong(self, rest, _):
        off, size, gens = rest.replace(":", "").split(" ", 2)
        kind = FOREIGN if "bad" in gens.split(" not ")[0] else STALE
        self.misread.append((int(off), int(size), kind))

    def take_told(self, rest, levels):
        what, code, text = (rest + " ").split(" ", 2)
        self.told.append((what, int(code), text))
        if code != "0":
            self.failed.append(text)
        elif what in levels:
            for piece in self.pieces.values():
                piece.stored()


def words_of(off, gen):
    """The bytes of a piece of that generation; 0: never written."""
    if gen == 0:
        return bytes(PIECE)
    base = gen << 56 | off // 8
    a = array.array("Q", range(base, base + PIECE // 8))
    if sys.byteorder != "little":
        a.byteswap()
    return a.tobytes()


def wrong_words(off, data, may):
    """(first byte, bytes, kind) of what is none of `may` there."""
    wrong = []
    for i, word in enumerate(array.array("Q", data)):
        gen = 0 if word == 0 else word >> 56 if word & (1 << 56) - 1 == off // 8 + i else None
        if gen in may:
            continue
        kind = FOREIGN if gen is None else STALE
        if wrong and wrong[-1][2] == kind and sum(wrong[-1][:2]) == off + 8 * i:
            wrong[-1] = (wrong[-1][0], wrong[-1][1] + 8, kind)
        else:
            wrong.append((off + 8 * i, 8, kind))
    return wrong


class Seen:
    """What became of a job and its file."""

    def __init__(self, world, levels=("sync", "wait", "close"), killed=False):
        self.records = [Record(world.record(r), levels) for r in range(RANKS)]
        self.killed = killed
        self.logs = text_of(world.out) + "".join(map(text_of, glob.glob(world.dir + "/*.log")))
        self.errors = [t for r in self.records for t in r.failed]
        self.named = self.ranges("\n".join(self.errors) + self.logs)
        self.verified = 0
        self.reverted = []    # (off, bytes), of older writes than one that was stored
        self.wrong = self.look(world.file)
        self.misread = self.look_at_reads()

    @staticmethod
    def ranges(text):
        found = set()
        for spans in NAMED.findall(text):
            for span in spans.split(", "):
                lo, hi = map(int, span.split("-"))
                found.add((lo, hi + 1))
        merged = []
        for lo, hi in sorted(found):
            if merged and lo <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(hi, merged[-1][1]))
            else:
                merged.append((lo, hi))
        return merged

    def look(self, path):
        wrong = []
        with open(path if os.path.exists(path) else os.devnull, "rb") as f:
            for record in self.records:
                for off, piece in sorted(record.pieces.items()):
                    may = piece.may_when_killed() if self.killed else piece.may()
                    f.seek(off)
                    data = f.read(PIECE).ljust(PIECE, b"\0")
                    self.verified += PIECE
                    if not any(data == words_of(off, gen) for gen in may):
                        wrong += wrong_words(off, data, may)
                        if piece.is_reverted({w >> 56 for w in array.array("Q", data)}):
                            self.reverted.append((off, PIECE))
        return wrong

    def look_at_reads(self):
        wrong = [misread for r in self.records for misread in r.misread]
        for i, record in enumerate(self.records):
            other = self.records[(i + 1) % RANKS]
            for burst, may in zip(record.bursts, other.may):
                for off, gens in burst:
                    self.verified += PIECE
                    kinds = {FOREIGN if g == "bad" else STALE for g in gens
                             if g == "bad" or int(g) not in may.get(off, {0})}
                    wrong += [(off, PIECE, kind) for kind in kinds]
        return wrong

    def is_named(self, off, size):
        return any(lo <= off and off + size <= hi for lo, hi in self.named)

    def is_named_in_part(self, off, size):
        return any(lo < off + size and off < hi for lo, hi in self.named)

    def verdicts(self, what):
        """How that call ended on the ranks that came back from it: {True}, {False} or both."""
        return {code == 0 for r in self.records for w, code, _ in r.told if w == what}
