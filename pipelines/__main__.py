"""``python -m pipelines``: run the steps from the command line."""

from pipelines.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
