"""What a table holds does not depend on when it was compacted, for the tables of which Java promises it too.

Left out are those where Java's result depends on it (docs/format.md 9.4): retracts, but for deduplicate without
sequence.field, and rows that come late by a sequence.field or, under functions that mind the order, by a group.
"""

from __future__ import annotations

import pytest

import paimon_core as paimon
from tests.differential.histories import ADDS, ENGINES, KINDS, History, history
from tests.differential.play import rows_after

LATE_DO_NOT_MATTER = ("sum", "max", "collect")


def is_independent(one: History) -> bool:
    engine = one.options["merge-engine"]
    functions = [text for key, text in one.options.items() if key.endswith(".aggregate-function")]
    if engine == "deduplicate":
        return "sequence.field" not in one.options or one.kinds == ADDS
    grouped = any(key.endswith(".sequence-group") for key in one.options)
    return "sequence.field" not in one.options and not (grouped and set(functions) - set(LATE_DO_NOT_MATTER))


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_do_not_depend_on_when_compaction_ran(tmp_path, engine):
    catalog = paimon.open_catalog(str(tmp_path))
    for database in ("with", "without"):
        catalog.create_database(database)
    played = 0
    for seed in range(1000, 1015):
        one = history(seed, engine)
        keeps_all = engine == "deduplicate" and "sequence.field" not in one.options
        one.steps = [
            step
            if isinstance(step, str)
            else [[row[0] if keeps_all else ADDS[row[0] != "+I"], *row[1:]] for row in step]
            for step in one.steps
        ]
        one.kinds = KINDS if keeps_all else ADDS
        if is_independent(one):
            compacted = rows_after(one, catalog, "with", lambda step: step)
            assert compacted == rows_after(one, catalog, "without", lambda step: None), str(one)
            played += 1
    assert played >= 5
