"""Daemon: the process from which Spark forks the Python workers; it has imported the tasks of loads.

Like ``paimon_core.spark.daemon``, but with the modules of loads, so that workers need not import them.
"""

from __future__ import annotations

from paimon_core.spark import daemon


def main() -> None:
    """Import the modules that the tasks of loads use, then start workers until Spark ends the daemon."""
    import paimon_lake.loads.write_tasks  # noqa: F401

    daemon.main()


if __name__ == "__main__":
    main()
