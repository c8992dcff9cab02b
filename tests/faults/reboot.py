"""reboot.py - the directory of a synced journal as a reboot of its host leaves it.

Writes are synced before they are answered, notes are not: of the last segment all behind its last
write may be lost, from any byte on.  (Notes that void records are synced before segments are
deleted, and stay.)  The boot id of the host is another one.
"""
import glob
import os
import struct

HEAD = 72
DATA, DISCARD, BEFORE = 3, 6, 7  # zc_record.h
BOOT = slice(5, 41)              # in `alive`, behind "boot "


def records(data):
    """(end, kind) of each."""
    at = 0
    while at + HEAD <= len(data) and data[at:at + 4] == b"ZCJR":
        length, = struct.unpack_from("<I", data, at + 8)
        at += max(length, HEAD)
        yield at, data[at - max(length, HEAD) + 4]


def lose_notes(path, draw):
    with open(path, "r+b") as f:
        data = f.read()
        end = synced = 0
        for end, kind in records(data):
            if kind in (DATA, DISCARD, BEFORE):
                synced = end
        if synced < end:
            cut = draw.randint(synced, end)
            f.seek(cut)
            f.write(bytes(end - cut))


def reboot(journal, draw):
    segments = sorted(glob.glob(journal + "/segment.*"))
    if segments:
        lose_notes(segments[-1], draw)
    try:
        with open(journal + "/alive", "r+b") as f:
            was = os.stat(f.fileno())
            text = bytearray(f.read())
            text[BOOT] = b"%036d" % draw.randrange(10 ** 36)
            f.seek(0)
            f.write(text)
            f.flush()
            os.utime(f.fileno(), ns=(was.st_atime_ns, was.st_mtime_ns))
    except FileNotFoundError:
        pass  # it had not started, or has ended with nothing left
