"""Main: the entry point of ``paimon-lake`` and ``python -m paimon_lake``.

Without the packages of the extra ``lake``, a command only prints one line that says what to install.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from paimon_lake.extras import missing_extra


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code; the code is 2 when the packages of the extra ``lake`` are not
    installed.
    """
    try:
        from paimon_lake.cli.main import main as run
    except ModuleNotFoundError as error:
        advice = missing_extra(error)
        if advice is None:
            raise
        print(f"paimon-lake: {advice}", file=sys.stderr)
        return 2
    return run(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
