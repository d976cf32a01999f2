"""Lag: asks the sources of changes how far the tables of a lake are behind, without Spark, and several servers at once.

A server that does not answer delays the answer about its own tables only, and not longer than ``LAG_SECONDS``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import cast

from paimon_core.errors import PaimonError
from paimon_lake.declarations import Settings, TableSpec
from paimon_lake.declarations.part_spec import PartSpec, followed_specs, loaded_spec
from paimon_lake.declarations.sources.kafka import KafkaSource
from paimon_lake.declarations.sources.source import CHANGES, PostgresChangesSource
from paimon_lake.loads.kafka.lag import kafka_lags
from paimon_lake.loads.lookup.due_rows import due_now
from paimon_lake.loads.postgres.lag import postgres_lags
from paimon_lake.protocol import PipelineError
from paimon_lake.sources.lag import Answer, Lag

LAG_SECONDS = 40.0
"""How long all answers may take together: Dagster ends the evaluation of a sensor after 60 s."""
_SERVERS_AT_ONCE = 16
Ask = Callable[[Settings, Sequence[str], float], Iterator[Answer]]
"""Yields the lags of tables, and of parts of tables, of the same server; asks no further table after a monotonic time.
"""


def lag(settings: Settings, name: str) -> Lag | Exception:
    """Return the lag of one table, or the error that says why it is not known."""
    return lags(settings, [name])[name]


def lags(settings: Settings, names: Iterable[str], seconds: float = LAG_SECONDS) -> dict[str, Lag | Exception]:
    """Return for each table its lag, or the error that explains why the lag is not known; the order is the order of the
    names.

    The lag of a wide table has the lags of its parts that have sources of changes. Raises PipelineError for a table
    whose source has no lag.
    """
    deadline, asked_for = time.monotonic() + seconds, {name: _followed(settings.table(name)) for name in names}
    servers: dict[tuple[Ask, str], list[str]] = {}
    for spec in (one for specs in asked_for.values() for one in specs):
        servers.setdefault(_server(spec), []).append(spec.load_name)
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
    return {name: _answer(specs, found, late) for name, specs in asked_for.items()}


def _answer(specs: Sequence[TableSpec], found: Mapping[str, Lag | Exception], late: PipelineError) -> Lag | Exception:
    """Return the answer about a table; ``found`` has the answers about tables and parts by their load names."""
    parts = {one.part: found.get(one.load_name, late) for one in specs if isinstance(one, PartSpec)}
    return Lag.of_parts(parts) if parts else found.get(specs[0].load_name, late)


def _followed(spec: TableSpec) -> tuple[TableSpec, ...]:
    if not (found := followed_specs(spec)):
        raise PipelineError(f"{spec.name}: its source has no lag: only a source of type {CHANGES} has one")
    return found


def _ask(
    ask: Ask, settings: Settings, names: Sequence[str], deadline: float, found: dict[str, Lag | Exception]
) -> None:
    for name, answer in ask(settings, names, deadline):
        found[name] = _with_due(settings, name, answer)


def _with_due(settings: Settings, name: str, answer: Lag | Exception) -> Lag | Exception:
    """Return an answer about a table or part, which is also behind when rows that wait for rows of other tables are
    due.
    """
    try:
        if isinstance(answer, Lag) and not answer.is_behind and due_now(settings, loaded_spec(settings.tables, name)):
            notes = [one for one in (answer.note, "rows that wait are due") if one]
            return replace(answer, is_behind=True, note="; ".join(notes))
    except (PipelineError, PaimonError) as error:
        return error
    return answer


def _server(spec: TableSpec) -> tuple[Ask, str]:
    match spec.source:
        case KafkaSource() as source:
            return kafka_lags, json.dumps([source.servers, dict(source.client)])
        case source:
            return postgres_lags, cast(PostgresChangesSource, source).url
