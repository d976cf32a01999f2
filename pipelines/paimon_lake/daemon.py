"""Daemon: the process from which Spark forks the Python workers.

It imports the modules that tasks of loads use, so that no worker must import them, and then does the same as
``paimon_core.spark.daemon``.
"""

from __future__ import annotations

from paimon_core.spark import daemon


def main() -> None:
    """Import the modules that the tasks of loads use, then start workers until Spark ends the daemon."""
    import paimon_lake.loads.write_tasks  # noqa: F401

    daemon.main()


if __name__ == "__main__":
    main()
