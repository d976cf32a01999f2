"""Daemon: the process from which Spark forks its Python workers; it has imported this package.

Spark runs this module instead of ``pyspark.daemon`` when the setting spark.python.daemon.module names this module.
Then the workers need not import the package. A worker collects garbage after each task; ``gc.freeze`` excludes the
100,000 objects of the imported modules, which would take 40 to 70 ms each time.
"""

from __future__ import annotations

import gc


def main() -> None:
    """Import the modules that tasks use, then start workers until Spark ends the daemon."""
    import pandas  # noqa: F401  # tasks of queries import it
    import pyspark.worker  # noqa: F401
    from pyspark.daemon import manager

    import paimon_core.spark.compactor
    import paimon_core.spark.datasource
    import paimon_core.spark.reads.changes
    import paimon_core.spark.reads.reader
    import paimon_core.spark.removal
    import paimon_core.spark.writes.file_writer
    import paimon_core.spark.writes.placement
    import paimon_core.spark.writes.writer  # noqa: F401

    gc.collect()
    gc.freeze()
    manager()


if __name__ == "__main__":
    main()
