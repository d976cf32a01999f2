"""Deferred modules are imported at their first use; a first read imports no room that it does not need."""

import copy
import subprocess
import sys

import pyarrow as pa
import pytest

import paimon_core as paimon
from paimon_core.deferred import DeferredModule, deferred

UNUSED = ("alter", "commit", "compact", "frames.sql_query", "fsck", "group", "health.check", "maintain", "write")
FIRST_READ = """
import sys, paimon_core
rows = paimon_core.open_catalog(sys.argv[1]).table("db.t").scan(limit=1).to_arrow()
print(len(rows), *(name.removeprefix("paimon_core.") for name in sys.modules if name.startswith("paimon_core.")))
"""


def test_a_function_is_imported_at_its_first_call(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    convert = deferred("colorsys", "rgb_to_hsv")
    assert "colorsys" not in sys.modules
    assert convert(1.0, 1.0, b=1.0) == (0.0, 0.0, 1.0)
    assert "colorsys" in sys.modules


def test_a_dotted_name():
    assert deferred("datetime", "datetime.fromisoformat")("2026-01-02").day == 2


def test_a_missing_name_is_an_error_at_the_call():
    with pytest.raises(AttributeError, match="no_such"):
        deferred("colorsys", "no_such")()
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        deferred("no_such_module", "name")()


def test_a_deferred_module(monkeypatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    module = DeferredModule("colorsys")
    copy.copy(module)
    assert "colorsys" not in sys.modules
    assert module.rgb_to_hsv(0.0, 0.0, 0.0) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("key", [{}, {"primary_key": "id"}])
def test_a_first_read_imports_no_writes_and_no_maintenance(tmp_path, key):
    catalog = paimon.open_catalog(tmp_path)
    catalog.create_database("db")
    table = catalog.create_table("db.t", pa.schema([("id", pa.int64())]), options={"bucket": "1"} if key else {}, **key)
    table.write([{"id": 1}, {"id": 2}])
    ran = subprocess.run([sys.executable, "-c", FIRST_READ, str(tmp_path)], capture_output=True, text=True, check=True)
    rows, *modules = ran.stdout.split()
    assert rows == "1"
    found = {name for name in modules if any(name == room or name.startswith(f"{room}.") for room in UNUSED)}
    assert not found
    assert "query.planned_rows" in modules
