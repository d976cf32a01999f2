"""Columns that are added to the rows of events, and types that get wider, while messages are loaded."""

from __future__ import annotations

import json

import pytest

from paimon_lake.loads import load as commits
from paimon_lake.protocol import PipelineError


def maxwell(kind="insert", **row):
    return {"type": kind, "database": "shop", "table": "o", "data": row}


def debezium(types, **row):
    fields = [{"field": name, "type": kind} for name, kind in types.items()]
    schema = {"type": "struct", "fields": [{"field": "after", "type": "struct", "fields": fields}]}
    payload = {"op": "c", "before": None, "after": row, "source": {"db": "shop", "table": "o"}}
    return json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")).encode()


def types(fed):
    return {field.name: field.type.sql for field in fed.lake.table("shop.o").schema.fields}


@pytest.mark.parametrize("batch_rows", [2, 100])
def test_columns_are_added_in_the_middle_of_a_batch(fed, batch_rows):
    fed.declare(f"format: maxwell-json, schema_changes: apply, batch_rows: {batch_rows}")
    fed.send(
        maxwell(id=1, t="a"),
        maxwell(id=2, t="b"),
        maxwell(id=3, t="c", n=5),
        maxwell(id=1, t="d", n=1.5, u="x", empty=None),
        maxwell("delete", id=2, t="b"),
    )
    done = fed.load()
    assert fed.rows() == [(1, "d", 1.5, "x"), (3, "c", 5.0, None)]
    assert done.details["rows_read"] == 5
    assert "the new column u of the source is STRING in the table" in done.details["schema_changes"]
    assert done.details["ignored_columns"] == "empty"
    assert fed.load().commits == ()
    fed.send(maxwell(id=4, t="e"))  # the columns were dropped
    done = fed.load()
    assert "no message has the member n, u; set the option allow_missing_columns: true if that is right" in done.skipped
    assert "schema_changes" not in done.details


def test_types_of_an_envelope_widen_and_add_columns(fed):
    fed.declare("format: debezium-json, schema_changes: apply", columns="{id: BIGINT, v: INT}")
    before = {"id": "int64", "v": "int32"}
    fed.send(debezium(before, id=1, v=7), debezium({**before, "v": "int64", "n": "int16"}, id=2, v=1 << 40, n=3))
    done = fed.load()
    assert types(fed) == {"id": "BIGINT NOT NULL", "v": "BIGINT", "n": "SMALLINT"}
    assert fed.rows() == [(1, 7, None), (2, 1 << 40, 3)]
    assert done.details["rows_rejected"] == 0
    assert "the column v of the source has a wider type and is BIGINT" in done.details["schema_changes"]


def test_columns_are_left_out_or_refused_as_declared(fed):
    fed.declare("format: maxwell-json, schema_changes: ignore")
    fed.send(maxwell(id=1, t="a", n=5))
    assert fed.load().details["ignored_columns"] == "n"
    fed.send(maxwell(id=2, t="b", n=5))
    fed.declare("format: maxwell-json")
    with pytest.raises(PipelineError, match=r"topic .*, partition 0 has columns that the table does not have: 'n'"):
        fed.load()
    fed.declare("format: maxwell-json, schema_changes: apply")
    fed.send(maxwell(id=3, t="c", n="x"))
    with pytest.raises(PipelineError, match=r"has the new column 'n' with the types BIGINT, STRING"):
        fed.load()
    assert fed.rows() == [(1, "a")]


def test_events_of_another_table_add_no_columns(fed):
    fed.declare("format: maxwell-json, schema_changes: apply")
    fed.send(maxwell(id=1, t="a"), {**maxwell(id=2, t="b", n=1), "table": "other"})
    with pytest.raises(PipelineError, match="events of several tables"):
        fed.load()
    assert "n" not in types(fed)


def test_a_load_that_died_after_the_alteration_loads_each_message_once(fed, monkeypatch):
    fed.declare("format: maxwell-json, schema_changes: apply")
    fed.send(maxwell(id=1, t="a", n=5))

    def die(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(commits, "commit_load", die)
        with pytest.raises(KeyboardInterrupt):
            fed.load()
    assert list(types(fed)) == ["id", "t", "n"]
    assert fed.load().rows_written == 1
    assert fed.rows() == [(1, "a", 5)]
