"""Strategy: decides whether a bucket is compacted now, and which of its runs are compacted (format 8.2, 8.3)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from paimon_core.lsm.compaction.read_bound import ReadBound
from paimon_core.lsm.compaction.schedule import EarlyFull, Moment, OffPeak
from paimon_core.lsm.compaction.universal import CompactionUnit, UniversalCompaction, full_unit
from paimon_core.lsm.key_order import KeyOrder
from paimon_core.lsm.levels import Levels
from paimon_core.options import TableOptions


class Level0(Enum):
    """The buckets in which level 0 is compacted although the universal rule picks nothing."""

    WHEN_PICKED = "when picked"
    WHEN_OVERDUE = "when overdue"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Strategy:
    """The compaction rules of one table."""

    universal: UniversalCompaction = field(default_factory=UniversalCompaction)
    early: EarlyFull = field(default_factory=EarlyFull)
    off_peak: OffPeak = field(default_factory=OffPeak)
    level_0: Level0 = Level0.WHEN_PICKED
    read_bound: ReadBound | None = None
    """None: the picks of Java."""

    @staticmethod
    def of(options: TableOptions) -> Strategy:
        """Return the strategy that the table's options define."""
        return Strategy(
            UniversalCompaction.of(options),
            EarlyFull.of(options),
            OffPeak.of(options),
            _level_0(options),
            ReadBound.of(options),
        )

    def pick(
        self, levels: Levels, moment: Moment, *, overdue: bool = False, key_order: KeyOrder | None = None
    ) -> CompactionUnit | None:
        """Return the next compaction of a bucket, or None.

        The rules are tried in order: an early full compaction, the universal rule, then a compaction of level 0. The
        last rule applies to every bucket, to buckets that are ``overdue``, or to no bucket, as ``level_0`` says. A
        single file that is already at the output level is not compacted. With a ``read_bound``, a full compaction takes
        the place of a picked one where newer runs make reads expensive; this needs the ``key_order`` of the files.
        """
        if self.early.calls_for(levels, moment):
            return full_unit(levels)
        more = self.off_peak.ratio_at(moment.hour)
        universal = replace(self.universal, size_ratio=self.universal.size_ratio + more) if more else self.universal
        unit = universal.pick(levels)
        if unit is None and (self.level_0 is Level0.ALWAYS or (self.level_0 is Level0.WHEN_OVERDUE and overdue)):
            unit = universal.pick_level_0(levels)
        if unit is not None and len(unit.files) == 1 and unit.files[0].level == unit.output_level:
            return None
        if unit is not None and self.read_bound is not None and key_order is not None:
            return full_unit(levels) if self.read_bound.calls_for(levels, key_order) else unit
        return unit


def needs_lookup(options: TableOptions) -> bool:
    """Whether compactions must look up the keys of level-0 rows in the higher levels (format 8.3)."""
    return bool(
        options["merge-engine"] == "first-row"
        or options["changelog-producer"] == "lookup"
        or options["force-lookup"]
        or options["deletion-vectors.enabled"]
    )


def gentle_interval(options: TableOptions) -> int:
    """Return the number of commits after which a file of level 0 is overdue under lookup-compact = gentle.

    The number is the value of option lookup-compact.max-interval (default: twice the compaction trigger), but at least
    the compaction trigger.
    """
    trigger: int = options["num-sorted-run.compaction-trigger"]
    given: int | None = options["lookup-compact.max-interval"]
    return max(trigger, 2 * trigger if given is None else given)


def stop_trigger(options: TableOptions) -> int:
    """Return the number of sorted runs up to which a writer need not wait for compaction.

    The number is the value of option num-sorted-run.stop-trigger (default: the compaction trigger plus 3), but at least
    the compaction trigger.
    """
    trigger: int = options["num-sorted-run.compaction-trigger"]
    given: int | None = options["num-sorted-run.stop-trigger"]
    return max(trigger, trigger + 3 if given is None else given)


def _level_0(options: TableOptions) -> Level0:
    if needs_lookup(options):
        return Level0.WHEN_OVERDUE if options["lookup-compact"] == "gentle" else Level0.ALWAYS
    return Level0.ALWAYS if options["compaction.force-up-level-0"] else Level0.WHEN_PICKED
