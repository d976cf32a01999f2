"""Time-outs of object stores: for one request, and for one call including all repeated requests.

If a store accepts connections and never answers, a call must fail with an error. The clients limit the time of single
requests; this module limits the time of the whole call.
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
"""A call, with its first and all repeated requests, may take as long as this number of time-outs of one request."""
_MILLIS = {"ms": 1, "s": 1000, "min": 60_000}


class RequestTimedOut(Exception):
    """The store did not answer in time; it may have executed the request."""


@dataclass(frozen=True)
class TimeOut:
    """The maximum time that one request waits for its answer, in milliseconds."""

    millis: int = DEFAULT_MILLIS

    @staticmethod
    def of(options: Mapping[str, str]) -> TimeOut:
        """Parse the option; raises InvalidOption for a value such as "soon" or "0 s"."""
        text = options.get(OPTION)
        if text is None:
            return TimeOut()
        found = re.fullmatch(r"\s*([1-9]\d{0,8})\s*(ms|s|min)\s*", text)
        if found is None:
            raise InvalidOption(f"{OPTION} = {text!r:.40} must be a positive time such as 500 ms, 30 s or 2 min")
        return TimeOut(int(found.group(1)) * _MILLIS[found.group(2)])

    @property
    def seconds(self) -> float:
        """The time-out of one request in seconds."""
        return self.millis / 1000

    @property
    def whole_seconds(self) -> int:
        """The time-out of one request, rounded up, for clients that accept only whole seconds."""
        return math.ceil(self.seconds)

    def run(self, loop: Any, request: Callable[[], Coroutine[Any, Any, Any]], requests: int | None = REQUESTS) -> Any:
        """Return the result of a call that may take as long as ``requests`` time-outs; ``requests`` None: no limit.

        Raises RequestTimedOut when the call takes longer. The call is then cancelled in this process, but the store may
        still execute the request.
        """
        import asyncio

        from fsspec.asyn import sync

        async def bounded() -> Any:
            try:
                return await asyncio.wait_for(request(), None if requests is None else self.seconds * requests)
            except TimeoutError:
                raise self.unanswered(requests) from None

        return sync(loop, bounded)

    def unanswered(self, requests: int | None = REQUESTS) -> RequestTimedOut:
        """Return the error for a call that took too long; the error names the option."""
        longest = self.seconds * (requests or 1)
        return RequestTimedOut(f"no answer within {longest:g} s (option {OPTION} = {self.seconds:g} s a request)")


STANDARD = TimeOut()
"""The time-out when the option is not set."""
