"""Tasks of loads in this process instead of Spark, as ``paimon_lake.loads.write_tasks.collect_tasks`` is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def in_this_process(
    _session: Any, payloads: Sequence[bytes], work: Callable[[bytes], bytes], _sizes: Sequence[int] | None = None
) -> list[bytes]:
    return [work(payload) for payload in payloads]
