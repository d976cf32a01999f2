"""A fuzz target: a parser, the errors that it may raise, valid inputs, and the way in which inputs are changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from paimon_core.errors import PaimonError

Mutate = Callable[[bytes, Random, Sequence[bytes]], bytes]
"""Returns a changed input; the last argument holds other inputs, from which parts may be taken."""


@dataclass(frozen=True)
class Target:
    """One parser; ``run`` raises one of ``errors`` or returns, for any bytes."""

    name: str
    run: Callable[[bytes], object]
    seeds: Callable[[], Sequence[bytes]]
    mutate: Mutate
    errors: tuple[type[BaseException], ...] = (PaimonError,)
