"""Cluster archive: writes the archive of packages for the Python workers of a Spark cluster."""

from __future__ import annotations

import argparse
import sys

from paimon_core.cli.output.output import Output
from paimon_core.errors import InvalidRequest


def cluster_archive(args: argparse.Namespace, out: Output) -> int:
    """Write the archive and print its contents; raises InvalidRequest when the extra spark is not installed."""
    try:
        from paimon_core.spark.cluster_archive import write_archive
    except ModuleNotFoundError as error:
        raise InvalidRequest(f'the archive needs the package {error.name}: pip install "paimon-core[spark]"') from error

    packages = write_archive(args.target, args.extras)
    python, size = f"{sys.version_info.major}.{sys.version_info.minor}", args.target.stat().st_size
    text = "\n  ".join([f"{args.target}: {size >> 20} MB, for workers with Python {python}", *packages])
    out.say(text, {"archive": args.target, "bytes": size, "python": python, "packages": packages})
    return 0
