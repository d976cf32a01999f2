"""The options for jobs of Flink and of Spark."""

from __future__ import annotations

from paimon_core.options.option import BOOLEAN, LONG, Option, Stops, obeyed

FLINK: tuple[Option, ...] = (
    obeyed("end-input.watermark", LONG, "", "watermark of the snapshot of a batch write that states no watermark"),
)
SPARK: tuple[Option, ...] = (
    obeyed(
        "read.allow.fullScan",
        BOOLEAN,
        "true",
        "false: a scan of a table with partitions fails when its filter leaves out no file",
        stops=Stops.SCANS,
    ),
)
