"""Lost: rows that loads wrote into a table and that were removed, because their data files were missing.

The snapshot of such a removal records which snapshots had added the rows. If loads of files committed these snapshots,
the source files of the loads count as lost. When these snapshots are not known, because a compaction had merged the
rows of many loads or because the snapshots have expired, rows of any load may be lost (``rest``).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from paimon_core.maintain.repair.loss import Loss
from paimon_lake.checks.text import many

Digests = frozenset[bytes]
"""The digests of the paths of source files."""
_OVERWRITE = "OVERWRITE"


@dataclass(frozen=True)
class Lost:
    """The lost rows: removed and not loaded again. The value is false when no rows are lost."""

    snapshots: tuple[int, ...] = ()
    """The ids of the snapshots that removed missing files, ascending."""
    rows: int = 0
    """The number of rows in the removed files, before rows with the same key are merged."""
    loads: tuple[int, ...] = ()
    """The snapshots of the loads that wrote the lost rows, unless they are unknown."""
    files: Digests = frozenset()
    """The source files of the lost loads that were not loaded again."""
    order: tuple[Digests, ...] = ()
    """The source files of each load since the first lost load, oldest first. Of rows with the same key, the row of the
    later load wins, so the files must be loaded again in this order."""
    rest: bool = False
    """Whether rows of any load may be lost."""
    seen: int = field(default=0, compare=False)
    """The snapshot id of the newest removal that is included."""

    def __bool__(self) -> bool:
        return bool(self.snapshots)

    def with_removal(self, snapshot: int, loss: Loss, loads: Mapping[int, Collection[bytes]], oldest: int) -> Lost:
        """Return the lost rows after one more removal; ``loads``: the files of each earlier load, by snapshot id.

        ``oldest`` is the first snapshot that has not expired. A removal of only rows that other programs appended is
        ignored, because they are not rows of loads.
        """
        seen = replace(self, seen=snapshot)
        lost = {number for number in loss.added_by if number in loads}
        files = {number: frozenset(loads[number]) for number in loads}
        foreign = [(number, origin) for number, origin in loss.added_by.items() if number not in loads]
        rest = loss.unknown > 0 or any(not files[number] for number in lost)
        rest = rest or any(number < oldest or origin.kind == _OVERWRITE for number, origin in foreign)
        if not loads or not (lost or rest):
            return seen
        first = min(lost | set(self.loads), default=0)
        order = [files[number] for number in sorted(files) if number >= first and files[number]] if lost else []
        expired = [group for group in self.order if group not in order]  # loads of expired snapshots
        return Lost(
            (*self.snapshots, snapshot),
            self.rows + loss.rows,
            tuple(sorted({*self.loads, *lost})),
            self.files.union(*(files[number] for number in lost)),
            (*expired, *order),
            self.rest or rest,
            snapshot,
        )

    def with_load(self, files: Collection[bytes], restores: int) -> Lost:
        """Return the rows that are still lost after a load of ``files``.

        ``restores``: for a load that read the whole source again, the snapshot id of the newest removal before it; else
        0.
        """
        left = self.files.difference(files)
        if restores >= self.snapshots[-1] or not (left or self.rest):
            return Lost(seen=self.seen)
        return replace(self, files=left, order=(*self.order, frozenset(files)))

    def with_carried(self, carried: Lost) -> Lost:
        """Return the lost rows after a snapshot that copies the ledger.

        A removal may be missing in the copy, if it was committed just before the copy.
        """
        if self.seen <= carried.seen:
            return carried
        return Lost(
            tuple(sorted({*self.snapshots, *carried.snapshots})),
            max(self.rows, carried.rows),
            tuple(sorted({*self.loads, *carried.loads})),
            self.files | carried.files,
            carried.order + self.order,
            self.rest or carried.rest,
            self.seen,
        )

    def sentence(self) -> str:
        """Return one sentence about the lost rows."""
        by = f" (snapshot {', '.join(map(str, self.loads))})" if self.loads else ""
        removed = (
            f"snapshot {', '.join(map(str, self.snapshots))} removed missing data files that loads had written{by}"
        )
        return f"{many(self.rows, 'row')} lost: {removed}, and they were not loaded again"

    def to_text(self) -> str:
        """Return the text of a snapshot property."""
        return json.dumps(
            {
                "snapshots": self.snapshots,
                "rows": self.rows,
                "loads": self.loads,
                "files": _text(self.files),
                "order": [_text(files) for files in self.order],
                "rest": self.rest,
                "seen": self.seen,
            }
        )

    @staticmethod
    def from_text(text: str, size: int) -> Lost:
        """Return the lost rows that ``to_text`` encoded, with digests of ``size`` bytes.

        Raises ValueError for another text.
        """
        try:
            record = json.loads(text)
            lost = Lost(
                tuple(record["snapshots"]),
                record["rows"],
                tuple(record["loads"]),
                _digests(record["files"], size),
                tuple(_digests(files, size) for files in record["order"]),
                record["rest"],
                record["seen"],
            )
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"no record of lost rows: {error}") from None
        if any(type(number) is not int for number in (*lost.snapshots, lost.rows, *lost.loads, lost.seen)):
            raise ValueError("no record of lost rows: a number is no whole number")
        return lost


def _text(digests: Digests) -> str:
    return base64.b64encode(b"".join(sorted(digests))).decode()


def _digests(text: str, size: int) -> Digests:
    data = base64.b64decode(text, validate=True)
    if len(data) % size:
        raise ValueError(f"{len(data)} bytes are no whole number of digests")
    return frozenset(data[at : at + size] for at in range(0, len(data), size))


NOTHING = Lost()
