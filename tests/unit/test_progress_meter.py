"""Progress of long operations (resembles issue 29)."""

import datetime
import sys
import types

import pytest

import paimon_core as paimon
from paimon_core import Progress, progress_meter
from paimon_core.errors import InvalidRequest
from paimon_core.progress_meter import meter, progress


@pytest.fixture
def table(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    return catalog.create_table("db.t", {"id": "BIGINT"}, primary_key="id", options={"bucket": "2"})


def last(found, operation):
    return [state for state in found if state.operation == operation][-1]


def test_operations_tell_what_they_have_done(table, monkeypatch):
    monkeypatch.setattr(progress_meter, "LEAST_SECONDS", 0.0)
    found = []
    with paimon.progress(found.append):
        table.write([{"id": n} for n in range(10)])
        table.write([{"id": n} for n in range(10)])
        table.compact(full=True)
        table.maintenance.check(deep=True)
        table.expire_snapshots(keep_last=1, older_than=datetime.timedelta())
    assert (last(found, "write").done, last(found, "write").is_complete) == (10, True)
    compacted = last(found, "compact")
    assert compacted.done == compacted.total > 0
    assert compacted.is_complete
    assert last(found, "check").done > 0
    removed = last(found, "delete files")
    assert removed.done == removed.total > 0
    count = len(found)
    table.write([{"id": 1}])
    assert len(found) == count


def test_an_error_of_the_callback_ends_the_operation_before_its_commit(table):
    def stop(state):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), paimon.progress(stop):
        table.write([{"id": 1}])
    assert table.latest_snapshot() is None


def test_a_wrong_callback_is_refused():
    with pytest.raises(InvalidRequest, match="takes a function of a Progress, not 3"), progress(3):
        pass


def test_texts_have_the_rate_and_an_estimate():
    assert str(Progress("compact", "bytes", 500, 2000, 5.0)) == (
        "compact: 500 of 2,000 bytes, 100 a second, about 15 s left"
    )
    assert str(Progress("write", "rows", 7, None, 0.0)) == "write: 7 rows, 0 a second"


def test_lines_go_to_standard_error_without_tqdm(monkeypatch, capsys):
    monkeypatch.setattr(progress_meter, "LINE_SECONDS", 0.0)
    monkeypatch.setattr(progress_meter.importlib.util, "find_spec", lambda name: None)
    with progress():
        for _ in meter("delete files", "files", 2).counting(["a", "b"]):
            pass
    assert "delete files: 2 of 2 files" in capsys.readouterr().err


def test_bars_of_tqdm_are_closed_after_a_failure(monkeypatch):
    made = []

    class Bar:
        def __init__(self, **settings):
            self.settings, self.n, self.closed = settings, 0, False
            made.append(self)

        def update(self, amount):
            self.n += amount

        def close(self):
            self.closed = True

    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    monkeypatch.setattr(progress_meter.importlib.util, "find_spec", lambda name: object())

    def failing():
        meter("delete files", "files", 3).advance(2)
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"), progress():
        failing()
    [bar] = made
    assert (bar.n, bar.closed, bar.settings["total"]) == (2, True, 3)
