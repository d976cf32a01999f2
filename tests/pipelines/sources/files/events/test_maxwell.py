"""Events of Maxwell: the examples of its documentation, and events that change no row."""

import datetime as dt

import pytest

from paimon_lake.protocol import PipelineError
from tests.pipelines.sources.files.events.event_files import read_events
from tests.pipelines.sources.files.reading import columns

TABLE = columns(id="INT", m="DOUBLE", c="TIMESTAMP(6)", comment="STRING")
HEAD = {"database": "test", "table": "e", "ts": 1477053217, "xid": 23396, "commit": True, "server_id": 23042}
OLD = {"id": 1, "m": 4.2341, "c": "2016-10-21 05:33:37.523000", "comment": "I am a creature of light."}
NEW = {"id": 1, "m": 5.444, "c": "2016-10-21 05:33:54.631000", "comment": "I am a creature of light."}
CHANGED = {"m": 4.2341, "c": "2016-10-21 05:33:37.523000"}
DEFINITION = {
    "database": "test",
    "charset": "utf8mb4",
    "table": "e",
    "columns": [{"type": "int", "name": "id", "signed": True}, {"type": "timestamp", "name": "c", "column-length": 6}],
    "primary-key": ["id"],
}
AT = [dt.datetime(2016, 10, 21, 5, 33, 37, 523000), dt.datetime(2016, 10, 21, 5, 33, 54, 631000)]
LIGHT = "I am a creature of light."


def event(kind, **more):
    return {"type": kind, **HEAD, **more}


DOCUMENTED = [
    event("table-create", **{"def": DEFINITION, "sql": "create table test.e ( ... )"}),
    event("insert", data=OLD),
    event("update", data=NEW, old=CHANGED),
    event("delete", data=NEW),
    event("table-alter", old=DEFINITION, **{"def": DEFINITION, "sql": "alter table test.e add column torvalds ..."}),
    event("bootstrap-start", data={}),
    event("bootstrap-insert", data=OLD),
    event("bootstrap-complete", data={}),
]
"""https://maxwells-daemon.io/dataformat/ and https://maxwells-daemon.io/bootstrapping/"""


@pytest.mark.parametrize("split_bytes", [1 << 20, 200])
def test_the_events_of_maxwells_documentation(tmp_path, split_bytes):
    found = read_events(tmp_path / "a", DOCUMENTED, TABLE, "maxwell-json", split_bytes=split_bytes)
    assert found.rows == [
        ("+I", 1, 4.2341, AT[0], LIGHT),
        ("+U", 1, 5.444, AT[1], LIGHT),
        ("-D", 1, 5.444, AT[1], LIGHT),
        ("+I", 1, 4.2341, AT[0], LIGHT),
    ]
    assert (found.rejects, found.skipped) == ([], {"schema change": 2, "control event": 2})


def test_old_has_the_columns_of_the_key_that_changed(tmp_path):
    found = read_events(tmp_path / "a", DOCUMENTED[2:3], TABLE, "maxwell-json", key=("id", "c"))
    assert [(row[0], row[1], row[3]) for row in found.rows] == [("-D", 1, AT[0]), ("+I", 1, AT[1])]


@pytest.mark.parametrize(
    ("line", "column", "reason"),
    [
        (event("update", old=CHANGED), "data", "the event writes a row, and data does not have it"),
        (event("insert", data={**OLD, "c": 5}), "c", "the number 5 is not valid for TIMESTAMP(6)"),
        (event("insert", data={**OLD, "c": "0000-00-00 00:00:00"}), "c",
         "'0000-00-00 00:00:00' is not valid for TIMESTAMP(6)"),
        (event("insert", data={**OLD, "m": "4.2"}), "m", "'4.2' is not valid for DOUBLE"),
        (event("upsert", data=OLD), "type", None),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_rejected(tmp_path, line, column, reason):
    found = read_events(tmp_path / "a", [line, DOCUMENTED[1]], TABLE, "maxwell-json")
    (reject,) = found.rejects
    assert reject[:2] == (1, column)
    assert reason is None or reject[2] == reason
    assert len(found.rows) == 1


def test_an_envelope_is_an_event_of_debezium_only(tmp_path):
    found = read_events(tmp_path / "a", [{"schema": None, "payload": DOCUMENTED[1]}], TABLE, "maxwell-json")
    assert [column for _, column, _ in found.rejects] == ["type"]


def test_files_of_several_tables_need_the_option(tmp_path):
    lines = [event("insert", data=OLD), event("insert", data={"other": [1]}, table="f")]
    with pytest.raises(PipelineError, match=r"several tables, test\.e, test\.f: choose"):
        read_events(tmp_path / "a", lines, TABLE, "maxwell-json")
    found = read_events(tmp_path / "a", lines, TABLE, "maxwell-json", table="e", database="test")
    assert (len(found.rows), found.skipped) == (1, {"event of other tables": 1})
