"""Author: who commits, under which number, and what the snapshot says of it besides its files (format 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_core.errors import InvalidRequest
from paimon_core.metadata.snapshot import BATCH_IDENTIFIER


@dataclass(frozen=True)
class Author:
    """One logical commit's signature; raises InvalidRequest for a blank user or a number out of range."""

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

    @property
    def counts(self) -> bool:
        """Whether the commit has a number of its own, so that it happens once; batch commits have not."""
        return self.identifier != BATCH_IDENTIFIER
