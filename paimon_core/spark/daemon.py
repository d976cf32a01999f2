"""Daemon: the process that Spark forks its Python workers from, with this package imported.

Spark runs this module instead of ``pyspark.daemon`` when its setting for the module of the daemon names it. A worker
then imports nothing by itself. A worker also collects garbage after each task; ``gc.freeze`` leaves out the 100,000
objects of the imported modules, which would take 40 to 70 ms each time.
"""

from __future__ import annotations

import gc


def main() -> None:
    """Import what tasks use, then start workers until Spark ends the daemon."""
    import pandas  # noqa: F401  # tasks of queries import it
    import pyspark.worker  # noqa: F401
    from pyspark.daemon import manager

    import paimon_core.spark.changes
    import paimon_core.spark.compactor
    import paimon_core.spark.datasource
    import paimon_core.spark.placement
    import paimon_core.spark.reader
    import paimon_core.spark.removal
    import paimon_core.spark.writer  # noqa: F401

    gc.collect()
    gc.freeze()
    manager()


if __name__ == "__main__":
    main()
