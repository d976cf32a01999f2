"""Author: the user and identifier of a commit, with the properties and times that its snapshot records (format 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_core.errors import InvalidRequest
from paimon_core.metadata.snapshot import BATCH_IDENTIFIER

OPERATIONS = frozenset(
    {
        "WRITE",
        "OVERWRITE",
        "DELETE",
        "TRUNCATE",
        "UPDATE",
        "MERGE",
        "CREATE_TABLE_AS_SELECT",
        "REPLACE_TABLE_AS_SELECT",
        "CREATE_OR_REPLACE_TABLE_AS_SELECT",
    }
)
"""The operations that a snapshot may record. Paimon 2 in Java cannot read a snapshot with any other value."""


@dataclass(frozen=True)
class Author:
    """The author of one commit. Raises InvalidRequest for a blank user, a wrong identifier or an unknown operation."""

    user: str
    identifier: int = BATCH_IDENTIFIER
    properties: Mapping[str, str] = field(default_factory=dict)
    watermark: int | None = None
    """The watermark in epoch milliseconds. If the watermark of the base is higher, the snapshot gets that watermark."""
    operation: str | None = None
    now_millis: int | None = None
    """The commit time of the snapshot in epoch milliseconds; None: the clock's time."""

    def __post_init__(self) -> None:
        if not self.user.strip() or not 0 <= self.identifier <= BATCH_IDENTIFIER:
            raise InvalidRequest(
                f"commit user {self.user!r:.80}, identifier {self.identifier}: the user must not be blank and the "
                "identifier must be from 0 to 2^63-1"
            )
        if self.operation is not None and (not isinstance(self.operation, str) or self.operation not in OPERATIONS):
            raise InvalidRequest(f"operation {self.operation!r:.60} must be one of {', '.join(sorted(OPERATIONS))}")

    @property
    def counts(self) -> bool:
        """Whether the commit has an identifier and is therefore committed exactly once.

        A batch commit has no identifier.
        """
        return self.identifier != BATCH_IDENTIFIER
