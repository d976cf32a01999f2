"""Run the command line: ``python -m paimon_core fsck sales.orders --warehouse /data``."""

import sys

from paimon_core.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
