"""Time-outs of object stores: how long one request waits, and one call with all of its repetitions.

A store that takes connections and never answers must end in an error. The clients bound single requests only; here the
whole call is bounded, whatever its client repeats.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from paimon_core.errors import InvalidOption

OPTION = "storage.request-timeout"
DEFAULT_MILLIS = 60_000
REQUESTS = 5
"""A call with its repetitions may take as long as so many requests."""
_MILLIS = {"ms": 1, "s": 1000, "min": 60_000}


class Unanswered(Exception):
    """The store gave no answer in time; what was asked for may have been done."""


@dataclass(frozen=True)
class TimeOut:
    """How long one request waits for its answer, in milliseconds."""

    millis: int = DEFAULT_MILLIS

    @staticmethod
    def of(options: Mapping[str, str]) -> TimeOut:
        """From the option; raises InvalidOption for a value such as "soon" or "0 s"."""
        text = options.get(OPTION)
        if text is None:
            return TimeOut()
        found = re.fullmatch(r"\s*([1-9]\d{0,8})\s*(ms|s|min)\s*", text)
        if found is None:
            raise InvalidOption(f"{OPTION} = {text!r:.40} must be a positive time such as 500 ms, 30 s or 2 min")
        return TimeOut(int(found.group(1)) * _MILLIS[found.group(2)])

    @property
    def seconds(self) -> float:
        """For one request."""
        return self.millis / 1000

    @property
    def whole_seconds(self) -> int:
        """For one request, rounded up, for clients that count in seconds."""
        return math.ceil(self.seconds)

    def run(self, loop: Any, request: Callable[[], Coroutine[Any, Any, Any]], requests: int | None = REQUESTS) -> Any:
        """The answer to a call that may take as long as ``requests``; None: as long as its own requests let it.

        Raises Unanswered; the call is then cancelled here, and may still be done there.
        """
        import asyncio

        from fsspec.asyn import sync

        async def bounded() -> Any:
            try:
                return await asyncio.wait_for(request(), None if requests is None else self.seconds * requests)
            except TimeoutError:
                raise self.unanswered(requests) from None

        return sync(loop, bounded)

    def unanswered(self, requests: int | None = REQUESTS) -> Unanswered:
        """The error, which names the option."""
        longest = self.seconds * (requests or 1)
        return Unanswered(f"no answer within {longest:g} s (option {OPTION} = {self.seconds:g} s a request)")


STANDARD = TimeOut()
"""Without the option."""
