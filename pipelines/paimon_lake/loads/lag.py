"""Lag: how far the tables of a lake are behind their sources of changes, asked without Spark, all servers at once.

A server that does not answer delays the answer about its own tables only, and not longer than ``LAG_SECONDS``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

from paimon_lake.declarations import Settings
from paimon_lake.declarations.sources.kafka import KafkaSource
from paimon_lake.declarations.sources.source import CHANGES, PostgresChangesSource
from paimon_lake.loads.kafka.lag import kafka_lags
from paimon_lake.loads.postgres.lag import postgres_lags
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.lag import Answer, Lag

LAG_SECONDS = 40.0
"""How long all answers may take together: Dagster ends the evaluation of a sensor after 60 s."""
_SERVERS_AT_ONCE = 16
Ask = Callable[[Settings, Sequence[str], float], Iterator[Answer]]
"""Yields the lag of tables that have the same server, until a monotonic time."""


def lag(settings: Settings, name: str) -> Lag | Exception:
    """Return the lag of one table, or the error that says why it is not known."""
    return lags(settings, [name])[name]


def lags(settings: Settings, names: Iterable[str], seconds: float = LAG_SECONDS) -> dict[str, Lag | Exception]:
    """Return for each table its lag, or the error that says why it is not known; in the order of the names.

    Raises PipelineError for a table whose source has no lag.
    """
    deadline, asked_for = time.monotonic() + seconds, list(dict.fromkeys(names))
    servers: dict[tuple[Ask, str], list[str]] = {}
    for name in asked_for:
        servers.setdefault(_server(settings, name), []).append(name)
    found: dict[str, Lag | Exception] = {}
    pool = ThreadPoolExecutor(_SERVERS_AT_ONCE, "lag")
    try:
        asked = [pool.submit(_ask, ask, settings, of_one, deadline, found) for (ask, _), of_one in servers.items()]
        done, _ = wait(asked, seconds)
        for one in done:
            one.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    late = PipelineError(f"no answer after {seconds:g} s")
    return {name: found.get(name, late) for name in asked_for}


def _ask(
    ask: Ask, settings: Settings, names: Sequence[str], deadline: float, found: dict[str, Lag | Exception]
) -> None:
    found.update(ask(settings, names, deadline))


def _server(settings: Settings, name: str) -> tuple[Ask, str]:
    match settings.table(name).source:
        case PostgresChangesSource() as source:
            return postgres_lags, source.url
        case KafkaSource() as source:
            return kafka_lags, json.dumps([source.servers, dict(source.client)])
    raise PipelineError(f"{name}: its source has no lag: only a source of type {CHANGES} has one")
