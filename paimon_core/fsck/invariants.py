"""Invariants: the rules that every table keeps, each with a number and the kind of data that the check reads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class When(StrEnum):
    """The kind of data that the check of an invariant needs."""

    QUICK = "quick"
    """Metadata and listings."""
    DEEP = "deep"
    """The rows of data files."""
    HISTORY = "history"
    """A record of all operations, which the files of a table do not contain; only the simulator has this record."""


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
        ("I1", _Q, "snapshot ids have no gap, and each file contains the snapshot of its name"),
        ("I2", _H, "a snapshot file never changes, and is never re-created with other bytes"),
        ("I3", _H, "each snapshot id was created by one committer only"),
        ("I4", _H, "every acknowledged commit exists exactly once"),
        ("I5", _H, "a failed commit is never visible, a commit with unknown outcome at most once"),
        ("I6", _Q, "every referenced file exists, has its recorded size and decodes (rows: deep)"),
        ("I7", _Q, "a snapshot starts with exactly the files with which the one before ended"),
        ("I8", _Q, "no file is added twice, and no file is deleted that was not added"),
        ("I9", _Q, "a file name is used for one file only"),
        ("I10", _D, "every compared snapshot can be read in full"),
        ("I11", _D, "a compaction changes no row"),
        (
            "I12",
            _Q,
            "files of one level above 0 share no key; rows ascend by key, and recorded keys are the extremes (deep)",
        ),
        ("I13", _Q, "a file has a valid range of sequence numbers, and its rows have that range (deep)"),
        ("I14", _H, "the sequence numbers of two writers of one bucket never interleave"),
        (
            "I15",
            _Q,
            "a partition has one number of buckets, and each row is in the bucket of its hash or hash index (deep)",
        ),
        ("I16", _Q, "a deletion vector belongs to one live file and deletes at most the rows of that file"),
        ("I17", _D, "with deletion vectors, no key is visible twice above level 0"),
        ("I18", _Q, "recorded numbers of rows and files are right"),
        (
            "I19",
            _D,
            "no value is outside of its file's statistics, and null counts and file indexes are right",
        ),
        ("I20", _D, "the changelog gives, from one state of the table, the next state"),
        ("I21", _Q, "a tag equals the snapshot from which it was created"),
        ("I22", _Q, "a branch has a schema, and its snapshots are complete"),
        ("I23", _H, "after a rollback the table has the state of its target"),
        ("I24", _Q, "hints do not mislead readers, and the snapshot directory has no other files"),
        ("I25", _Q, "schemas exist, their ids have no gap, and no field id is used twice"),
        ("I26", _H, "expiry deletes nothing that must be kept, and deletes snapshots before their files"),
        ("I27", _H, "orphan clean-up deletes only files that nothing references"),
        ("I28", _H, "after a commit with unknown outcome nothing is deleted"),
        ("I29", _Q, "files that nothing references (info)"),
        ("I30", _H, "prepared files are not visible until they are committed, exactly once"),
        ("I31", _Q, "commit times and watermarks never decrease"),
        ("I32", _H, "a seed of the simulator reproduces its history"),
        ("I33", _H, "every commit ends"),
        ("I34", _H, "no secret is written anywhere"),
        ("I35", _Q, "every path is inside of the table"),
        ("I36", _Q, "with row tracking, every row has an id of its own below the next id (ids in files: deep)"),
    )
}
"""All invariants, by number, in order."""

NEEDS_HISTORY = "the files of a table do not show this: the check needs a record of who did what"
