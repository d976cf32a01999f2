"""Daemon: the process that Spark forks the Python workers of a lake from, with the tasks of loads imported.

See ``paimon_core.spark.daemon``: this module imports more, so that no worker imports it by itself.
"""

from __future__ import annotations

from paimon_core.spark import daemon


def main() -> None:
    """Import what the tasks of loads use, then start workers until Spark ends the daemon."""
    import paimon_lake.loads.write_tasks  # noqa: F401

    daemon.main()


if __name__ == "__main__":
    main()
