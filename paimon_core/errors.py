"""Errors: the exception classes of the library, grouped by the next step of the caller.

PaimonError
├── InvalidRequest (ValueError)     correct the call
│   ├── InvalidOption
│   ├── SchemaMismatch
│   ├── SqlError                    correct the text of the SQL statement
│   └── UnsupportedFeature          Paimon has this feature, this library does not
│       └── ConditionalWriteUnsupported   the store cannot be used for commits
├── NotFound (LookupError)          correct the name
│   ├── DatabaseNotFound, TableNotFound, SnapshotNotFound, TagNotFound, BranchNotFound
├── AlreadyExists                   choose another name
├── CommitConflict                  plan and retry: a concurrent commit changed the same files
│   └── ReadOutdated                read and retry: a concurrent commit changed the rows that were read
├── PlanOutdated                    create a new plan: the table has changed since the plan was made
├── CommitStateUnknown              check whether the snapshot exists: the response of the publish was lost
├── AfterCommitFailed               the commit succeeded: repeat only the step after it
├── StorageError (OSError)          retry later
└── CorruptTable                    repair the table: a file is missing or does not decode

Every error has a stable ``kind`` (the class name in kebab case) and ``facts``: keyword arguments that name the
objects in the message (table, path, snapshot, option, value). Errors can be pickled, so Spark workers can raise them.

A message is one line of printable text with at most LONGEST_MESSAGE characters, however long its values are. When the
name of an option suggests a secret, such as a password, the message shows the value as ``***``.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable
from typing import Any

__all__ = [
    "AfterCommitFailed",
    "AlreadyExists",
    "BranchNotFound",
    "CommitConflict",
    "CommitStateUnknown",
    "ConditionalWriteUnsupported",
    "CorruptTable",
    "DatabaseNotFound",
    "InvalidOption",
    "InvalidRequest",
    "NotFound",
    "PaimonError",
    "PlanOutdated",
    "ReadOutdated",
    "SchemaMismatch",
    "SnapshotNotFound",
    "SqlError",
    "StorageError",
    "TableNotFound",
    "TagNotFound",
    "UnsupportedFeature",
]

LONGEST_MESSAGE = 1_000
"""The maximum number of characters of a message; a longer message loses its middle part."""
_LINE_END = re.compile(r"\s*[\r\n]\s*")
_LONG_WORD = re.compile(r"\S{121,}")
_LONG_COMPONENT = re.compile(r"[^/]{256,}")
_TOO_MANY_DIGITS = re.compile(
    r"Exceeds the limit \((\d+) digits\) for integer string conversion(: value has \d+ digits)?; "
    r"use sys\.set_int_max_str_digits\(\) to increase the limit"
)
"""The error of Python for a number that is too long to be parsed or written."""
_SECRET = re.compile(r"secret|password|credential|token|access.?key|account.?key|sas", re.IGNORECASE)
_HIDDEN = "***"
_SHOWN_OF_A_WORD = 80
_SHOWN_NAMES = 20
_NEAREST_NAMES = 10
_COMPARED_NAMES = 1_000
_COMPARED = 200
"""The characters of a name that are compared with other names; no name of a tag or branch is longer."""


def names_a_secret(option: str) -> bool:
    """Return whether an option of this name probably has a secret as its value."""
    return _SECRET.search(option) is not None


def shown(value: object, length: int = 120) -> str:
    """Return the repr of a value for a message, cut to ``length`` characters.

    Of a value that is nested too deep, or has a number of thousands of digits, only the type is returned.
    """
    try:
        return repr(value)[:length]
    except RecursionError:
        return f"a {type(value).__name__} that is nested too deep to be shown"
    except ValueError:  # Python refuses to write such a number
        holder = "" if isinstance(value, int) else f"a {type(value).__name__} with "
        return f"{holder}a number of thousands of digits"


class PaimonError(Exception):
    """The base class of all errors; ``facts`` are the objects that the message names."""

    def __init__(self, message: str, **facts: Any) -> None:
        value = facts.get("value")
        if isinstance(value, str) and value and names_a_secret(str(facts.get("option"))):
            message, facts = message.replace(value, _HIDDEN), facts | {"value": _HIDDEN}
        self.message = _shown(message)
        super().__init__(self.message)
        self.facts = facts

    @property
    def kind(self) -> str:
        """The class name in kebab case, for example ``commit-conflict``."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(self).__name__).lower()

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, self.facts))


def listed(names: Iterable[str]) -> str:
    """Return names for a message, separated by commas: at most the first 20, and then the total if there are more."""
    found = list(names)
    shown = ", ".join(found[:_SHOWN_NAMES])
    return f"{shown}, ... ({len(found)} in all)" if len(found) > _SHOWN_NAMES else shown


def nearest_names(name: str, known: Iterable[str]) -> str:
    """Return the known names that are most similar to a missing ``name`` for a message: at most 10, then the total.

    10 names or fewer are returned in alphabetical order; of more names, the most similar one is the first. Of very many
    names, only the 1,000 that are nearest in this order are compared, because a comparison takes time.
    """
    from difflib import get_close_matches  # only an error needs it

    found = sorted(known)
    if len(found) <= _NEAREST_NAMES:
        return ", ".join(found)
    at = max(0, bisect(found, name) - _COMPARED_NAMES // 2)
    near = get_close_matches(name[:_COMPARED], found[at : at + _COMPARED_NAMES], _NEAREST_NAMES, 0.0)
    return f"{', '.join(near)}, ... ({len(found)} in all)"


def _shown(message: str) -> str:
    """Return the message as one line of at most LONGEST_MESSAGE characters.

    A word of more than 120 characters is cut; if it is a path, only its names of more than 255 characters are cut.
    """
    if not message.isprintable():
        message = _LINE_END.sub(" ", message.strip())
        message = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message)
    message = _TOO_MANY_DIGITS.sub(r"a number has more than \1 digits", message)
    message = _LONG_WORD.sub(_shortened, message)
    if len(message) <= LONGEST_MESSAGE:
        return message
    end = LONGEST_MESSAGE // 3
    return f"{message[: LONGEST_MESSAGE - end - 5]} ... {message[-end:]}"


def _shortened(word: re.Match[str]) -> str:
    text = word.group()
    if "/" in text:
        return _LONG_COMPONENT.sub(lambda part: f"{part.group()[:_SHOWN_OF_A_WORD]}...", text)
    return f"{text[:_SHOWN_OF_A_WORD]}..."


def _rebuild(cls: type[PaimonError], message: str, facts: dict[str, Any]) -> PaimonError:
    return cls(message, **facts)


class InvalidRequest(PaimonError, ValueError):
    """The call is invalid and must be corrected; nothing was written."""


class InvalidOption(InvalidRequest):
    """An option has an unknown name or an invalid value."""


class SchemaMismatch(InvalidRequest):
    """The data or a column name does not match the table's schema."""


class SqlError(InvalidRequest):
    """The text of a SQL statement is not understood or not supported; the facts have its line and column."""


class UnsupportedFeature(InvalidRequest):
    """Paimon has this feature, but this library does not support it."""


class ConditionalWriteUnsupported(UnsupportedFeature):
    """The store ignores the condition of a conditional write, so concurrent commits would overwrite each other."""


class NotFound(PaimonError, LookupError):
    """The named object does not exist."""


class DatabaseNotFound(NotFound):
    """The catalog has no database of this name."""


class TableNotFound(NotFound):
    """The database has no table of this name."""


class SnapshotNotFound(NotFound):
    """The snapshot does not exist: it was never created, or it has expired."""


class TagNotFound(NotFound):
    """The table has no tag of this name."""


class BranchNotFound(NotFound):
    """The table has no branch of this name."""


class AlreadyExists(PaimonError):
    """A database, table, tag or branch of this name already exists."""


class CommitConflict(PaimonError):
    """A concurrent commit changed the same files or levels: plan and retry."""


class ReadOutdated(CommitConflict):
    """A concurrent commit changed the rows that this change was computed from: read, compute and commit again."""


class PlanOutdated(PaimonError):
    """The table has changed since the plan was made; the plan was not applied. Create a new plan."""


class CommitStateUnknown(PaimonError):
    """The publish was sent but its response was lost; nothing was deleted. Check for the snapshot before a retry."""


class AfterCommitFailed(PaimonError):
    """The commit succeeded, but a callback after it failed: do not write the rows again."""


class StorageError(PaimonError, OSError):
    """The storage system failed; the same call may succeed later."""


class CorruptTable(PaimonError):
    """A file that the metadata references is missing or does not decode."""
