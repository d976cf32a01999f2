"""A new table with a key gets its number of buckets from its files, unless the declaration states it."""

from __future__ import annotations

import gzip
import os
import re

import numpy as np
import pytest

from paimon_core.processors import usable
from paimon_lake.cli.main import main
from paimon_lake.loads.files import chosen_buckets as choosing
from paimon_lake.loads.files.chosen_buckets import chosen_buckets, processors
from paimon_lake.protocol import PipelineError
from tests.support.lakes import SmallLake

ORDERS = "columns: {id: BIGINT, n: BIGINT}\nprimary_key: id\nsource: {type: files, path: 'in/*.csv'}\n"
DAYS = """
columns: {day: DATE, id: BIGINT, n: BIGINT}
primary_key: [day, id]
partition_by: day
partitions: {by: day, start: 2024-01-01, column: day}
source: {type: files, path: 'in/{date}.csv', add: {day: partition}}
"""


@pytest.fixture
def small(quick: SmallLake, monkeypatch: pytest.MonkeyPatch) -> SmallLake:
    """A lake in which a bucket has a few kilobytes, with two files of random numbers."""
    monkeypatch.setattr(choosing, "_LEAST", 1000)
    monkeypatch.setattr("paimon_core.options.bucket_number.BUCKET_BYTES", 8 << 10)
    monkeypatch.setattr("paimon_core.options.bucket_number.LEAST_BYTES", 4 << 10)
    numbers = np.random.default_rng(1).integers(0, 10**9, 4000)
    for name, part in (("2024-01-01", numbers[:2000]), ("2024-01-02", numbers[2000:])):
        lines = "".join(f"{id_},{n}\n" for id_, n in enumerate(part))
        quick.file(f"in/{name}.csv", f"id,n\n{lines}")
    return quick


def test_a_load_creates_the_table_with_the_chosen_number_and_says_why(small: SmallLake) -> None:
    small.declare("a.orders", ORDERS)
    (expected,) = [chosen_buckets(small.settings, small.settings.table("a.orders"))]
    assert expected is not None
    done = small.load("a.orders")
    assert small.table("a.orders").options["bucket"] == expected.buckets > 1
    assert f"created with {expected.sentence()}" in done.sentence()
    assert re.search(r"in 2 files\)", done.sentence())
    assert "created with" not in small.load("a.orders").sentence()


def test_what_zstd_makes_of_the_text_is_near_to_the_data_files(small: SmallLake) -> None:
    small.declare("a.orders", ORDERS)
    sentence = str(small.load("a.orders").details["buckets"])
    found = re.search(r"because ([\d.]+) KiB of data", sentence)
    assert found is not None
    size = sum(small.table("a.orders").inspect.files()["file_size_in_bytes"].to_pylist()) / 1024
    assert 0.3 < float(found[1]) / size < 3


def test_the_declared_number_is_kept_and_a_change_of_it_is_a_difference(
    small: SmallLake, capsys: pytest.CaptureFixture[str]
) -> None:
    small.declare("a.orders", ORDERS + "options: {bucket: 1}\n")
    small.load("a.orders")
    assert small.table("a.orders").options["bucket"] == 1
    small.declare("a.orders", ORDERS + "options: {bucket: 2}\n")
    assert main(["check", "--configs", str(small.folder)]) == 1
    assert "has option bucket = 1, and 2 is declared" in capsys.readouterr().out


def test_a_chosen_number_agrees_with_the_declaration_and_is_not_altered(
    small: SmallLake, capsys: pytest.CaptureFixture[str]
) -> None:
    small.declare("a.orders", ORDERS)
    assert main(["apply", "--configs", str(small.folder)]) == 0
    created = capsys.readouterr().out
    number = small.table("a.orders").options["bucket"]
    assert created.startswith(f"created a.orders with buckets: {number}, because ")
    assert main(["check", "--configs", str(small.folder)]) == 0
    assert main(["apply", "--configs", str(small.folder)]) == 0
    assert "nothing to do: all tables are as declared" in capsys.readouterr().out
    small.load("a.orders")
    small.table("a.orders").alter("SET ('bucket' = '9')")
    assert main(["check", "--configs", str(small.folder)]) == 0
    assert main(["compile", "--configs", str(small.folder)]) == 0
    assert "bucket:" not in capsys.readouterr().out


def test_a_partition_counts_alone(small: SmallLake) -> None:
    small.declare("a.days", DAYS)
    small.declare("a.orders", ORDERS)
    of_days, of_orders = (chosen_buckets(small.settings, small.settings.table(name)) for name in ("a.days", "a.orders"))
    assert of_days is not None
    assert of_orders is not None
    assert 1 < of_days.buckets < of_orders.buckets
    assert "of data in 2 partitions" in of_days.reason


@pytest.mark.parametrize(
    "text",
    [
        ORDERS.replace("primary_key", "natural_key"),
        ORDERS + "options: {bucket: -1}\n",
        ORDERS.replace("in/*", "none/*"),
        "columns: {id: BIGINT}\nprimary_key: id\nsource: {type: python, function: 'own:rows'}\n",
    ],
)
def test_nothing_is_chosen_without_key_or_files_or_for_a_declared_number(small: SmallLake, text: str) -> None:
    small.declare("a.orders", text)
    assert chosen_buckets(small.settings, small.settings.table("a.orders")) is None


def test_partitions_that_the_files_do_not_tell_are_one_bucket(small: SmallLake) -> None:
    small.declare("a.orders", ORDERS.replace("primary_key: id", "primary_key: [id, n]\npartition_by: n"))
    found = chosen_buckets(small.settings, small.settings.table("a.orders"))
    assert found is not None
    assert found.sentence() == "buckets: 1, because the files do not tell how many partitions the table will have"


def test_infer_tells_the_number(small: SmallLake, capsys: pytest.CaptureFixture[str]) -> None:
    small.declare("a.orders", "primary_key: id\nsource: {type: files, path: 'in/*.csv'}\n")
    assert main(["infer", "a.orders", "--configs", str(small.folder)]) == 0
    assert re.fullmatch(r"buckets: \d+, because .+ of data .+ in 2 files\)", capsys.readouterr().out.splitlines()[-1])


@pytest.mark.parametrize(
    ("master", "number"), [("local", 1), ("local[4]", 4), ("local[2, 1]", 2), ("spark://h:7077", 1)]
)
def test_the_processors_of_a_master(quick: SmallLake, master: str, number: int) -> None:
    (quick.folder / "local.yaml").write_text(f"spark: {{master: '{master}'}}\n")
    assert processors(quick.settings) == number
    (quick.folder / "local.yaml").write_text("spark: {master: 'local[*]'}\n")
    assert processors(quick.settings) == usable()


@pytest.mark.parametrize("damage", ["header", "middle"])
def test_a_damaged_file_is_reported_by_the_load_itself(small: SmallLake, damage: str) -> None:
    """The same error as for a table whose number of buckets is declared: none of choosing the number."""
    packed = gzip.compress(os.urandom(3000).hex().encode())
    broken = b"no gzip" * 400 if damage == "header" else packed[:1000] + bytes(200) + packed[1200:]
    (small.folder / "in" / "broken.csv.gz").write_bytes(broken)
    source = ORDERS.replace("*.csv", "broken.csv.gz")
    said = []
    for name, more in (("a.stated", "options: {bucket: 1}\n"), ("a.chosen", "")):
        small.declare(name, source + more)
        with pytest.raises(PipelineError) as caught:
            small.load(name)
        said.append(str(caught.value).replace(name, "T"))
    assert said[0] == said[1]
