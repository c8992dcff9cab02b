"""mechanisms.py - what make check has of each mechanism that survives or tells a fault: the test,
below tests/, and its case where it has several."""
import os
import re
import sys

MECHANISMS = [
    ("What a daemon has taken is kept until it is stored, and sent again",
     ["unit/test_unstable: a_death_makes_it_dirty_again",
      "unit/test_replay: what_was_staged_is_sent_again", "mpi/test-replay.sh"]),
    ("What had to go before it was stored is lost by range",
     ["unit/test_unstable: what_was_evicted_is_lost_by_range",
      "unit/test_replay: what_was_not_kept_is_named"]),
    ("`zcache_replay=strict` evicts nothing that is not stored; `off` keeps nothing",
     ["unit/test_unstable: strict_evicts_nothing, off_keeps_nothing",
      "unit/test_replay: strict_in_little_room"]),
    ("A daemon is found again, at its address, a new one, or a spare's, in less than two seconds",
     ["unit/test_heal: started_again_during_calls", "unit/test_first: silent_and_started_again",
      "daemon/test-heal.sh"]),
    ("No request has an effect twice",
     ["unit/test_fence: late_messages_have_no_effect, transfers_are_cut_off"]),
    ("`zcache run` tells what the death of a daemon means for staged data",
     ["daemon/test-zcache-kill.sh"]),
    ("Loss of a daemon for good: an error, or bypassed",
     ["mpi/test-kill.sh", "mpi/test-loss.sh",
      "unit/test_loss: what_was_staged_is_written_directly, a_daemon_that_stops"]),
    ("A daemon that others have given up, or replaced, writes nothing more",
     ["mpi/test-loss.sh", "daemon/test-addrfile.sh", "daemon/test-successor.sh"]),
    ("One endpoint's trouble is its own",
     ["mpi/test-bystander.sh", "unit/test_heal: one_of_two_dies",
      "unit/test_local: rubbish_ends_its_connection_only"]),
    ("Who was not reached is waited for once", ["mpi/test-unreachable.sh"]),
    ("A dropped client is told so, and why, and comes back",
     ["unit/test_fence: an_evicted_client_is_notified, an_evicted_client_gets_the_reason",
      "unit/test_heal: dropped_by_the_same_one", "mpi/test-stopped.sh"]),
    ("Journal: staged data survives the daemon; torn and damaged records are recognised",
     ["daemon/test-journal.sh", "unit/test_journal: torn_at_every_byte, flipped_bits"]),
    ("Journal: contents decide where times of a file say nothing, or that another program has "
     "changed it; an interrupted start leaves the same to the next",
     ["unit/test_journal_files: contents_decide_after_a_reboot, contents_decide_where_times_object",
      "unit/test_journal_restart"]),
    ("Journal: what a later writer may have written is kept back, and set aside",
     ["daemon/test-journal-fence.sh",
      "unit/test_journal_fence: a_later_daemon, the_file_was_opened_elsewhere, another_root",
      "unit/test_root_record: generations_only_grow, an_error_is_no_missing_record"]),
    ("Checksums: a flipped bit is sent again, or told",
     ["mpi/test-flipped.sh",
      "unit/test_wire_csum: flipped_in_a_write, flipped_in_a_read, wrong_in_a_message, "
      "flipped_through_a_view, flipped_through_a_list"]),
    ("Checksums: a bit that flips in a cache is read again, or told, and never written",
     ["mpi/test-rotten.sh",
      "unit/test_page_csum: dirty_bytes_are_lost_and_not_written, seen_by_a_write_to_a_part, "
      "seen_by_a_read, clean_bytes_come_anew"]),
    ("Nothing begins on what is being closed",
     ["unit/test_rpc: nothing_begins_on_what_is_being_closed"]),
    ("Nothing waits on the progress thread",
     ["unit/test_rpc_stuck: views_are_decoded_beside, pings_are_always_accepted",
      "unit/test_local: a_hurried_call_does_not_wait_for_a_peer"]),
    ("A stuck file has so many threads, and no more: others are opened and served",
     ["unit/test_pool: a_key_has_so_many_threads_and_no_more",
      "unit/test_rpc_stuck: calls_about_a_file", "unit/test_cache_stuck: many_stuck_files"]),
    ("A store that hangs is told by path; `--timeout` of zcachectl holds",
     ["unit/test_store: calls_that_hang_are_told_by_path_and_once", "daemon/test-hang.sh"]),
    ("SIGTERM drains, with progress; a second signal ends it and names what is left",
     ["daemon/test-drain.sh", "daemon/test-hang.sh", "daemon/test-zcache-terminal.sh"]),
    ("`resume` after `drain`", ["daemon/test-zcachectl.sh"]),
    ("Lost bytes are in exit statuses", ["daemon/test-fence.sh"]),
    ("`zcache run` and `stop` wait as long as they are told to, whatever the file system does",
     ["daemon/test-zcache-timeout.sh"]),
    ("Each message, transfer or call of the store fails once",
     ["unit/test_tp_fault: every_message_lost, every_send_fails, every_transfer_fails",
      "unit/test_store: nth_call_fails"]),
    ("Memory runs out", ["unit/test_no_memory"]),
    ("Hostile messages, views, sessions", ["fuzz/test-corpus.sh", "fuzz/test-new-inputs.sh"]),
    ("Those who judge what follows are judged", ["faults/test-judge.sh"]),
]


def check(tests):
    """They are there, in that directory."""
    for what, shown in MECHANISMS:
        for text in shown:
            name, _, cases = text.partition(": ")
            path = os.path.join(tests, name if name.endswith(".sh") else name + ".c")
            if not os.path.exists(path):
                sys.exit(f"mechanisms.py: {what}: there is no {path}")
            with open(path) as f:
                source = f.read()
            for case in filter(None, cases.split(", ")):
                if not re.search(rf"\b{case}\b", source):
                    sys.exit(f"mechanisms.py: {what}: {path} has no {case}")
