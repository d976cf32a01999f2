"""How many random examples a property gets: all in `make test-long`, a share in `make test`."""

from __future__ import annotations

from hypothesis import settings


def examples(most: int) -> int:
    """Return how many of ``most`` examples are tried: the percentage is ``max_examples`` of the loaded profile."""
    return max(1, most * settings().max_examples // 100)
