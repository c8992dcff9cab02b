"""The variants of compare.sh: what they are called, and how they look in every figure.

Colours are those of Okabe and Ito, which people see whatever colours they do not see; lines
differ in their markers, too.
"""

from collections import namedtuple

Name = namedtuple("Name", "label about colour marker")

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#8C8C8C"

VARIANTS = {
    "ufs": Name("ROMIO, default hints", "MPICH's MPI-IO as it is: `ufs:`", GREY, "v"),
    "tuned": Name(
        "ROMIO, tuned hints", "the same, always with two-phase I/O, one aggregator", BLACK, "^"
    ),
    "ompio": Name("Open MPI (OMPIO)", "Open MPI's own MPI-IO", ORANGE, "D"),
    "uncached": Name(
        "forwarding, no cache",
        (
            "zcache through a daemon that caches nothing; each write is in the file before "
            "it returns, nothing is read ahead"
        ),
        PURPLE,
        "X",
    ),
    "embedded": Name("zcache, embedded", "without a daemon: ranks cache and write back", SKY, "P"),
    "one": Name("zcache, 1 daemon", "both levels cache and write back", BLUE, "o"),
    "fabric": Name(
        "zcache, 1 daemon, libfabric",
        (
            "the same, through libfabric, though on one host; the first access of a rank loads"
            " libfabric and connects"
        ),
        BLUE,
        "o",
    ),
    "two": Name("zcache, 2 daemons", "both levels, two daemons", GREEN, "s"),
    "none": Name(
        "no write-back",
        (
            "`zcache_write_back=none`: views and caches, but what is cached is written when they"
            " are full, at sync and close"
        ),
        VERMILION,
        "<",
    ),
    "aggregator": Name(
        "level 1 only",
        "`zcache_write_back=aggregator`: ranks to daemon in the background",
        VERMILION,
        ">",
    ),
    "daemon": Name(
        "level 2 only",
        (
            "`zcache_write_back=daemon`: daemon to file in the background, but ranks hand over only"
            " what does not fit, and the rest at the close"
        ),
        VERMILION,
        "*",
    ),
}
PEERS = ["ufs", "tuned", "ompio"]
CURVES = ["ufs", "tuned", "ompio", "uncached", "embedded", "one", "fabric", "two"]
LEVELS = ["none", "aggregator", "daemon", "one"]
# In the comparison of levels, the default with a daemon is the one that does both.
LEVEL_LABELS = {"one": "both levels"}
STORES = {"slow": "modelled slow store", "disk": "plain disk", "gluster": "GlusterFS"}

# Parts of a time, in every bar.
PARTS = {
    "open": ("in open", "#8C8C8C"),
    "compute": ("computing", "#DDDDDD"),
    "io": ("writing", "#44546A"),
    "close": ("in close", "#F0E442"),
}


# Of the two levels, where both are in one picture.
LEVEL_COLOURS = ["#E8B500", "#44546A"]


def label(variant):
    return VARIANTS[variant].label


def level_label(variant):
    """The same where levels of write-back are compared."""
    return LEVEL_LABELS.get(variant, label(variant))
