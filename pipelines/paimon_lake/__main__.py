"""``paimon-lake``: run the steps from the command line."""

from paimon_lake.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
