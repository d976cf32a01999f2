"""Manifests decoded as columns have the entries, and raise the errors, of those decoded record by record."""

import dataclasses
import io
import random
from pathlib import Path

import fastavro
import pytest

import paimon_core as paimon
from paimon_core.codec.avro.container import read_avro, write_avro
from paimon_core.errors import CorruptTable, PaimonError, UnsupportedFeature
from paimon_core.metadata.column_stats import EMPTY_ROW, ColumnStats
from paimon_core.metadata.data_file import DataFile, FileSource
from paimon_core.metadata.manifests import entry_decoder
from paimon_core.metadata.manifests.entries import FileKind, ManifestEntry
from paimon_core.metadata.manifests.entry_decoder import decode_manifests
from paimon_core.metadata.manifests.manifest_file import MANIFEST_SCHEMA, decode_entries, encode_entries
from tests.unit.metadata.manifests.test_entry_columns import BARE, FULL

GOLDEN = Path(__file__).parents[3] / "golden"
NUMBERS = (0, 1, -1, 63, 64, -64, -65, 8191, 8192, 2**31, 2**63 - 1, -(2**63))
COUNTS = tuple(n for n in NUMBERS if n >= 0)


@pytest.fixture(autouse=True)
def columns_only(monkeypatch):
    """Small manifests are decoded as columns too; ``by_record`` counts those that are not."""
    monkeypatch.setattr(entry_decoder, "FEW_BYTES", -1)
    by_record = []
    monkeypatch.setattr(
        entry_decoder, "decode_entries", lambda *args: (by_record.append(args[1]), decode_entries(*args))[1]
    )
    return by_record


def random_entry(numbers):
    def maybe(value):
        return value() if numbers.random() < 0.5 else None

    def text():
        return "".join(numbers.choices("abü漢-", k=numbers.choice([0, 1, 8, 70])))

    def row():
        return numbers.randbytes(numbers.choice([0, 12, 28, 200]))

    def texts():
        return tuple(text() for _ in range(numbers.choice([0, 0, 1, 3])))

    def number():
        return numbers.choice(NUMBERS)

    def stats():
        return ColumnStats(row(), row(), tuple(maybe(number) for _ in range(numbers.choice([0, 1, 4, 40]))))

    return ManifestEntry(
        numbers.choice(list(FileKind)),
        b"\0\0\0\2" + numbers.randbytes(numbers.choice([24, 90])),
        numbers.choice([0, -2, 70]),
        numbers.choice([-1, 2**31 - 1]),
        DataFile(
            text(),
            *(numbers.choice(COUNTS) for _ in range(3)),
            numbers.choice([0, 5, 100]),
            *(row(), row(), stats(), stats(), number(), number(), texts()),
            *(maybe(number), maybe(number), maybe(row), maybe(lambda: numbers.choice(list(FileSource)))),
            *(maybe(texts), maybe(text), maybe(number), maybe(texts)),
            maybe(lambda: tuple(number() for _ in range(numbers.choice([0, 2])))),
        ),
    )


def test_manifests_of_java():
    paths = [p for p in sorted(GOLDEN.glob("**/manifest/manifest-*")) if "list" not in p.name]
    files = [(p.read_bytes(), str(p)) for p in paths]
    assert len(files) > 10
    assert [c.entries() for c in decode_manifests(files)] == [decode_entries(*file) for file in files]


def test_only_manifests_in_other_formats_are_decoded_by_record(columns_only):
    paths = [p for p in sorted(GOLDEN.glob("**/manifest/manifest-*")) if "list" not in p.name]
    decode_manifests([(p.read_bytes(), str(p)) for p in paths])
    assert columns_only
    assert all("manifests_orc" in path for path in columns_only)


@pytest.mark.parametrize("compression", ["zstd", "snappy", "deflate", "none"])
@pytest.mark.parametrize("count", [0, 1, 700])
def test_random_entries(compression, count, columns_only):
    numbers = random.Random(count)
    entries = [random_entry(numbers) for _ in range(count)]
    (columns,) = decode_manifests([(encode_entries(entries, compression), "m")])
    assert columns.entries() == entries
    assert not columns_only


def test_small_and_large_manifests_together(monkeypatch, columns_only):
    monkeypatch.setattr(entry_decoder, "JOINT_BYTES", 5000)
    numbers = random.Random(1)
    manifests = [[random_entry(numbers) for _ in range(count)] for count in (1, 60, 0, 3, 60, 2)]
    manifests.append([FULL])
    files = [(encode_entries(entries, "zstd"), "m") for entries in manifests]
    old = write_avro(["null", MANIFEST_SCHEMA], read_avro(encode_entries([BARE, BARE], "zstd"), "m"))
    assert [c.entries() for c in decode_manifests([*files, (old, "old")])] == [*manifests, [BARE, BARE]]
    assert not columns_only


def test_many_small_manifests_without_partitions_are_decoded_at_once(monkeypatch):
    """Empty partitions are found everywhere in statistics; taken for records, they would make the whole fail."""
    catalog = paimon.open_catalog("memory://many-small-manifests")
    catalog.create_database("db")
    columns = {"k": "BIGINT NOT NULL", "a": "INT", "s": "STRING"}
    table = catalog.create_table("db.t", columns, primary_key=["k"], options={"bucket": 1, "write-only": "true"})
    for number in range(20):
        table.write([{"k": number, "a": number, "s": f"x{number}"}, {"k": number + 70, "a": 1, "s": None}])
    context = table.context
    listed = context.manifests.manifests_of(context.snapshots.latest())
    files = [(context.storage.read(p), p) for p in (context.paths.manifest(m.file_name) for m in listed)]
    calls = []
    places = entry_decoder._places
    monkeypatch.setattr(entry_decoder, "_places", lambda *args: calls.append(len(found := places(*args))) or found)
    found = decode_manifests(files)
    assert [c.entries() for c in found] == [decode_entries(*file) for file in files]
    assert len(files) == 20
    assert calls == [20]


def test_bytes_that_look_like_a_record(columns_only):
    """The encoded records of other entries are within the keys of an entry."""
    inner = b"".join(b.data for b in entry_decoder.read_blocks(encode_entries([BARE] * 3, "none"), "m")[1])
    file = dataclasses.replace(FULL.file, min_key=inner, max_key=b"\4" + inner + b"\4\0\x18\0\0\0")
    entries = [dataclasses.replace(FULL, partition=EMPTY_ROW, file=file), BARE, BARE]
    assert decode_manifests([(encode_entries(entries, "none"), "m")])[0].entries() == entries
    assert not columns_only


def test_only_the_blocks_with_a_text_are_decoded(columns_only):
    entries = [dataclasses.replace(BARE, partition=b"\0\0\0\1%07d" % n) for n in range(3000)]
    (columns,) = decode_manifests([(encode_entries(entries, "zstd"), "m")], [entries[1500].partition])
    found = columns.entries()
    assert entries[1500] in found
    assert len(found) < 1000
    assert not columns_only


def outcome(decode):
    try:
        return decode()
    except (CorruptTable, UnsupportedFeature) as error:
        return type(error), "path/m" in str(error)


def test_damaged_manifests():
    """A changed, removed or added byte has the same result as record by record: entries or an error."""
    numbers = random.Random(5)
    out = io.BytesIO()
    records = read_avro(encode_entries([FULL, *(random_entry(numbers) for _ in range(5))], "none"), "m")
    fastavro.writer(out, MANIFEST_SCHEMA, records, sync_interval=2000)
    whole = out.getvalue()
    body = whole.index(b"partition")
    ends = {"entries": 0, "refused": 0}
    for _ in range(200):
        data = bytearray(whole)
        at = numbers.randrange(body - 20, len(data))
        match numbers.randrange(4):
            case 0:
                data[at] ^= 1 << numbers.randrange(8)
            case 1:
                data[at] = numbers.choice([0, 1, 2, 4, 127, 128, 255])
            case 2:
                data[at : at + 10] = b"\xff" * 10
            case 3:
                data[at], data[at - 1] = data[at - 1], data[at]
        expected = outcome(lambda data=bytes(data): decode_entries(data, "path/m"))
        assert outcome(lambda data=bytes(data): decode_manifests([(data, "path/m")])[0].entries()) == expected
        ends["refused" if isinstance(expected, tuple) else "entries"] += 1
    assert min(ends.values()) > 20


@pytest.mark.parametrize("field", ["_FILE_NAME", "_EXTERNAL_PATH", "_EXTRA_FILES", "_VALUE_STATS_COLS", "_WRITE_COLS"])
def test_texts_that_are_not_unicode(field):
    (record,) = read_avro(encode_entries([FULL], "none"), "m")
    record["_FILE"][field] = "~" if isinstance(record["_FILE"][field], str) else ["~"]
    out = io.BytesIO()
    fastavro.writer(out, MANIFEST_SCHEMA, [record])
    with pytest.raises(CorruptTable, match="path/m"):
        decode_manifests([(out.getvalue().replace(b"~", b"\x80"), "path/m")])


@pytest.mark.parametrize("bad", [b"", b"Obj\1", b"PAR1", encode_entries([BARE], "zstd")[:-1]])
def test_files_that_are_no_manifests(bad):
    with pytest.raises(PaimonError, match="path/m"):
        decode_manifests([(encode_entries([BARE], "zstd"), "good"), (bad, "path/m")])


def test_long_arrays_of_few_entries_are_decoded_by_record(columns_only):
    stats = ColumnStats(EMPTY_ROW, EMPTY_ROW, (None, 70) * 500)
    wide = dataclasses.replace(BARE, file=dataclasses.replace(BARE.file, value_stats=stats))
    for entries in ([wide] * 3, [wide] * 400):
        assert decode_manifests([(encode_entries(entries, "none"), "m")])[0].entries() == entries
    assert columns_only == ["m"]  # the first one


def test_many_places_that_look_like_records_use_little_memory(columns_only):
    """Each eight bytes of a key look like the start of a record: the manifest is decoded by record."""
    file = dataclasses.replace(BARE.file, min_key=b"\4\0\x18\0\0\0\1\0" * 50_000)
    entry = dataclasses.replace(BARE, partition=b"\0\0\0\1" + bytes(16), file=file)
    assert decode_manifests([(encode_entries([entry], "none"), "m")])[0].entries() == [entry]
    assert columns_only == ["m"]
