"""``python -m assets.demo``: run the main job."""

from assets.demo.run import main

if __name__ == "__main__":
    raise SystemExit(main())
