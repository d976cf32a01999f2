"""The tree of errors, grouped by what the caller does next.

PaimonError
├── InvalidRequest (ValueError)     fix the call
│   ├── InvalidOption
│   ├── SchemaMismatch
│   └── UnsupportedFeature          the thing is real, but not built here
│       └── ConditionalWriteUnsupported   the store cannot carry commits
├── NotFound (LookupError)          fix the name
│   ├── DatabaseNotFound, TableNotFound, SnapshotNotFound, TagNotFound, BranchNotFound
├── AlreadyExists                   fix the name
├── CommitConflict                  re-plan and retry: someone else changed the same files
│   └── ReadOutdated                read again: the rows that the change was made from have changed
├── PlanOutdated                    plan again: the table moved since the plan was made
├── CommitStateUnknown              look, then decide: the answer of the publish was lost
├── AfterCommitFailed               the commit stands: repeat what was to follow it
├── StorageError (OSError)          retry later
└── CorruptTable                    repair: a file is missing or does not decode

Every error has a stable ``kind`` (the class name in kebab case) and keyword ``facts`` that name the
objects it speaks of (table, path, snapshot, option, value). Errors pickle, so Spark workers can raise them.
"""

from __future__ import annotations

import re
from typing import Any


class PaimonError(Exception):
    """The root; ``facts`` are the named objects the message speaks of."""

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts

    @property
    def kind(self) -> str:
        """The class name in kebab case: ``commit-conflict``."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(self).__name__).lower()

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, self.facts))


def _rebuild(cls: type[PaimonError], message: str, facts: dict[str, Any]) -> PaimonError:
    return cls(message, **facts)


class InvalidRequest(PaimonError, ValueError):
    """The call is wrong: fix it; nothing was written."""


class InvalidOption(InvalidRequest):
    """An option has an unknown name or a value outside its rule."""


class SchemaMismatch(InvalidRequest):
    """Data or a column name does not fit the table's schema."""


class UnsupportedFeature(InvalidRequest):
    """Paimon has it, this library does not build it (yet): it is refused by name."""


class ConditionalWriteUnsupported(UnsupportedFeature):
    """The store does not heed the condition of an exclusive creation: commits there would be lost."""


class NotFound(PaimonError, LookupError):
    """The named object does not exist."""


class DatabaseNotFound(NotFound):
    """No such database in the catalog."""


class TableNotFound(NotFound):
    """No such table in the database."""


class SnapshotNotFound(NotFound):
    """No such snapshot: never made, or expired."""


class TagNotFound(NotFound):
    """No such tag."""


class BranchNotFound(NotFound):
    """No such branch."""


class AlreadyExists(PaimonError):
    """A database, table or tag of that name exists."""


class CommitConflict(PaimonError):
    """Another commit changed the same files or levels: plan again and retry."""


class ReadOutdated(CommitConflict):
    """Another commit changed what this change was made from: read again, and make the change anew."""


class PlanOutdated(PaimonError):
    """The table is not any more as the plan saw it: nothing was done; plan again."""


class CommitStateUnknown(PaimonError):
    """The publish was sent and its answer lost: nothing was deleted; look before retrying."""


class AfterCommitFailed(PaimonError):
    """The commit stands, and a callback that was to run after it failed: do not write the rows again."""


class StorageError(PaimonError, OSError):
    """The store failed; the same call may succeed later."""


class CorruptTable(PaimonError):
    """A file that metadata names is missing, or does not decode."""
