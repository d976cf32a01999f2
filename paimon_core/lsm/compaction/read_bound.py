"""Read bound: when a full compaction takes the place of a smaller one, so that reads stay cheap (decision 0074).

Newer runs repeat keys of the last level, and a read decodes both. The universal rule alone merges newer runs with each
other, again and again, until they are twice as large as the last level; then a read decodes three times the rows. A
full compaction at half the size of the last level bounds the read and writes fewer bytes: it takes the place of merges
of the newer runs, as long as a commit is small beside the last level.
"""

from __future__ import annotations

from dataclasses import dataclass

from paimon_core.lsm.key_order import KeyOrder
from paimon_core.lsm.levels import Levels
from paimon_core.lsm.sections import intervals
from paimon_core.options import TableOptions

PERCENT = 50
"""The bytes of newer files, in percent of the last level's files with the same keys, above which all are merged."""


@dataclass(frozen=True, slots=True)
class ReadBound:
    """The bound of one table."""

    least_commits: int
    """The size of the newer runs, in files of level 0 as large as the largest, below which the bound does not apply:
    with larger commits, the universal rule merges everything often enough, and more often would write more bytes.
    """

    @staticmethod
    def of(options: TableOptions) -> ReadBound | None:
        """Return the bound of a table; None where the table states its own size amplification, and where reads do not
        merge.

        Reads with deletion vectors and of first-row tables do not decode replaced rows.
        """
        if "compaction.max-size-amplification-percent" in options.values:
            return None
        if options["deletion-vectors.enabled"] or options["merge-engine"] == "first-row":
            return None
        trigger: int = options["num-sorted-run.compaction-trigger"]
        return ReadBound(trigger * trigger)

    def calls_for(self, levels: Levels, key_order: KeyOrder) -> bool:
        """Whether the newer runs cost so much that all runs are to be merged; False without a file in the last level.

        Only key ranges with files of the last level and newer files count: newer files with keys of their own cost a
        read nothing. A full compaction rewrites them, too, so they count as bytes to write.
        """
        if not levels.runs or levels.runs[-1].level != levels.max_level:
            return False
        newer = last = apart = 0
        for section in intervals(levels.files, key_order):
            above = sum(f.file_size for f in section.files if f.level != levels.max_level)
            size = sum(f.file_size for f in section.files) - above
            if size and above:
                newer, last = newer + above, last + size
            else:
                apart += above
        largest = max((run.size for run in levels.runs if run.level == 0), default=0)
        return newer * 100 > PERCENT * (last + apart) and newer > self.least_commits * largest
