"""Parameters of a test that run only in `make test-long`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def long_cases(values: Iterable[Any]) -> list[Any]:
    """Mark the cases as long: ``[*SHORT, *long_cases(OTHERS)]``."""
    return [pytest.param(*v if isinstance(v, tuple) else (v,), marks=pytest.mark.long) for v in values]
