"""Outcome: how a call of a storage under test ends, for the fault injector and for the store of the simulator."""

from enum import Enum, auto


class Outcome(Enum):
    OK = auto()
    FAIL = auto()
    """Raise StorageError without effect."""
    LOSE = auto()
    """Have the effect, but raise an error: CommitStateUnknown for a publish, StorageError for other calls."""
    UNKNOWN = auto()
    """Raise CommitStateUnknown without effect."""
    EXISTS = auto()
    """Publish the file, but answer that it existed before."""
    LATE = auto()
    """A publish that raises an error first and has its effect later."""
    REPEAT = auto()
    """A client repeats the request because it did not get the answer, and returns the second answer."""
    DIE_BEFORE = auto()
    DIE_AFTER = auto()
    TORN = auto()
    """The process ends during the call: a part of the bytes is written, if the store allows that."""
