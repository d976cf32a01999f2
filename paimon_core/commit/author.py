"""Author: who commits, under which number, and what the snapshot says of it besides its files (format 3.2)."""

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
"""What a snapshot may say that it did; Paimon 2 in Java reads no snapshot with another word."""


@dataclass(frozen=True)
class Author:
    """One logical commit: whose it is, its number; raises InvalidRequest for values that no reader takes."""

    user: str
    identifier: int = BATCH_IDENTIFIER
    properties: Mapping[str, str] = field(default_factory=dict)
    watermark: int | None = None
    """Epoch milliseconds up to which the rows are complete; a snapshot never falls behind the one before it."""
    operation: str | None = None
    now_millis: int | None = None
    """The time of the snapshot; None: the clock's."""

    def __post_init__(self) -> None:
        if not self.user.strip() or not 0 <= self.identifier <= BATCH_IDENTIFIER:
            raise InvalidRequest(
                f"commit user {self.user!r:.80}, identifier {self.identifier}: not a name and a number from 0 to 2^63-1"
            )
        if self.operation is not None and (not isinstance(self.operation, str) or self.operation not in OPERATIONS):
            raise InvalidRequest(f"operation {self.operation!r:.60} is none of {', '.join(sorted(OPERATIONS))}")

    @property
    def counts(self) -> bool:
        """Whether the commit has a number of its own, so that it happens once; batch commits have not."""
        return self.identifier != BATCH_IDENTIFIER
