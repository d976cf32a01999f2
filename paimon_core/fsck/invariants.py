"""The invariants of a table, by the number under which findings name them, and when each can be checked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class When(StrEnum):
    """What a check of an invariant takes."""

    QUICK = "quick"
    """Metadata and listings."""
    DEEP = "deep"
    """The rows of data files."""
    HISTORY = "history"
    """A record of who did what: a table at rest does not tell."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """One rule that every table keeps."""

    number: str
    when: When
    says: str


_Q, _D, _H = When.QUICK, When.DEEP, When.HISTORY
INVARIANTS = {
    number: Invariant(number, when, says)
    for number, when, says in (
        ("I1", _Q, "snapshot ids have no gap, and each file holds the snapshot of its name"),
        ("I2", _H, "a snapshot file never changes, and never comes back with other bytes"),
        ("I3", _H, "each snapshot id was made by one committer only"),
        ("I4", _H, "every acknowledged commit is there once"),
        ("I5", _H, "a failed commit is never seen, an unknown one at most once"),
        ("I6", _Q, "every file that can be reached is there, has its recorded size and decodes (rows: deep)"),
        ("I7", _Q, "a snapshot starts from exactly the files that the one before ended with"),
        ("I8", _Q, "no file is added twice, and none deleted that is not there"),
        ("I9", _Q, "a file name means one file only"),
        ("I10", _D, "every compared snapshot can be read whole"),
        ("I11", _D, "a compaction changes no row"),
        (
            "I12",
            _Q,
            "files of one level above 0 share no key; rows ascend by key, and keys of files are their extremes (deep)",
        ),
        ("I13", _Q, "sequence numbers of a file have a range, and it is the recorded one (deep)"),
        ("I14", _H, "two writers of one bucket never interleave"),
        ("I15", _Q, "a partition has one number of buckets, and each row lies in the bucket of its hash (deep)"),
        ("I16", _Q, "a deletion vector belongs to one live file and deletes no more rows than that has"),
        ("I17", _D, "with deletion vectors, no key shows twice above level 0"),
        ("I18", _Q, "recorded numbers of rows and files are the sums of what they count"),
        ("I19", _D, "no value lies outside of its file's statistics, and nulls are counted right"),
        ("I20", _D, "the changelog leads from one state of the table to the next"),
        ("I21", _Q, "a tag is the snapshot that it was made from"),
        ("I22", _Q, "a branch has a schema, and snapshots that are whole"),
        ("I23", _H, "a rollback leaves the state of its target"),
        ("I24", _Q, "hints lead nobody astray, and nothing else lies among the snapshots"),
        ("I25", _Q, "schemas are there, their ids have no gap, and no field id is used twice"),
        ("I26", _H, "expiry removes nothing that is to be kept, and snapshots before their files"),
        ("I27", _H, "orphan clean-up deletes only what nothing can reach"),
        ("I28", _H, "an unknown outcome deletes nothing"),
        ("I29", _Q, "files that nothing reaches (info)"),
        ("I30", _H, "prepared files are unseen until they are committed, once"),
        ("I31", _Q, "commit times and watermarks never go back"),
        ("I32", _H, "a seed replays its history"),
        ("I33", _H, "every commit comes to an end"),
        ("I34", _H, "no secret is written anywhere"),
        ("I35", _Q, "every path lies in the table"),
    )
}
"""All of them, in order."""

NEEDS_HISTORY = "a table at rest does not tell: this needs a record of who did what"
