import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import paimon_core as paimon
from paimon_core.errors import CorruptTable, InvalidOption
from paimon_core.storage.fsspec_storage import FsspecStorage


@pytest.fixture
def options(tmp_path):
    return {"local-cache.enabled": "true", "local-cache.dir": str(tmp_path / "cache")}


@pytest.fixture
def table(warehouse):
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    table = catalog.create_table("db.t", {"k": "INT NOT NULL", "v": "INT"}, primary_key=["k"], options={"bucket": "1"})
    for n in range(3):
        table.write([{"k": n, "v": n}])
    return table


@pytest.fixture
def reads(monkeypatch):
    """The metadata files that are read from the warehouse."""
    found = []
    read = FsspecStorage.read

    def counted(self, path):
        if "/manifest/" in path:
            found.append(path.rpartition("/")[2])
        return read(self, path)

    monkeypatch.setattr(FsspecStorage, "read", counted)
    return found


def rows(warehouse, options):
    return paimon.open_catalog(warehouse, options=options).table("db.t").scan().to_arrow().num_rows


def a_manifest(warehouse):
    return min(Path(warehouse, "db.db", "t", "manifest").glob("manifest-[!l]*"))


@pytest.mark.parametrize("kind", ["filesystem", "sql"])
def test_later_catalogs_read_no_manifest_twice(warehouse, table, options, reads, tmp_path, kind):
    given = {"options": options}
    if kind == "sql":
        given |= {"type": "sql", "uri": f"sqlite:///{tmp_path}/names.db"}
        named = paimon.open_catalog(warehouse, **given)
        named.create_database("db")
        named.register_table("db.t")
    for expected in (True, False):
        reads.clear()
        assert paimon.open_catalog(warehouse, **given).table("db.t").scan().to_arrow().num_rows == 3
        assert bool(reads) == expected
    table.write([{"k": 9, "v": 9}])
    reads.clear()
    assert paimon.open_catalog(warehouse, **given).table("db.t").scan().to_arrow().num_rows == 4
    assert len(reads) == 3  # the base list, the delta list and the new manifest


@pytest.mark.programs
def test_another_process_uses_the_files(warehouse, table, options):
    text = (
        "import sys, paimon_core as p\n"
        "catalog = p.open_catalog(sys.argv[1], options=dict(a.split('=') for a in sys.argv[2:]))\n"
        "print(catalog.table('db.t').scan().to_arrow().num_rows)"
    )
    given = [f"{key}={value}" for key, value in options.items()]
    ran = subprocess.run([sys.executable, "-c", text, warehouse, *given], capture_output=True, text=True, check=True)
    assert ran.stdout == "3\n"
    for path in Path(warehouse, "db.db", "t", "manifest").iterdir():
        path.unlink()
    assert rows(warehouse, options) == 3


def test_a_check_reads_the_warehouse(warehouse, table, options):
    opened = paimon.open_catalog(warehouse, options=options).table("db.t")
    assert opened.scan().to_arrow().num_rows == 3
    path = a_manifest(warehouse)
    content = path.read_bytes()
    path.write_bytes(content[:-20] + bytes(20))
    assert rows(warehouse, options) == 3
    assert any(path.name in finding.message for finding in opened.maintenance.check().findings)


def test_no_copy_of_a_damaged_manifest_stays(warehouse, table, options):
    path = a_manifest(warehouse)
    content = path.read_bytes()
    path.write_bytes(content[:-20] + bytes(20))
    with pytest.raises(CorruptTable, match=path.name):
        rows(warehouse, options)
    path.write_bytes(content)
    assert rows(warehouse, options) == 3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"local-cache.enabled": "false"}, r"local-cache\.dir needs local-cache\.enabled = true"),
        ({"local-cache.enabled": None}, r"local-cache\.dir needs local-cache\.enabled = true"),
        ({"local-cache.dir": None}, r"local-cache\.enabled = true needs local-cache\.dir"),
        ({"local-cache.dir": "here"}, r"local-cache\.dir = 'here' must be an absolute path"),
        ({"local-cache.dir": "/proc/none"}, "/proc/none cannot be created"),
        ({"local-cache.max-size": "0"}, r"local-cache\.max-size = '0' must be a size of at least one byte"),
        ({"cache.manifest.max-memory": "0"}, r"cache\.manifest\.max-memory = '0' must be a size of at least one byte"),
        ({"cache.manifest.max-memory": "much"}, r"cache\.manifest\.max-memory = 'much' must be"),
        ({"local-cache.whitelist": "data"}, r"'local-cache\.whitelist' is not supported"),
        ({"local-cache.enabled": "yes"}, r"local-cache\.enabled = 'yes'"),
    ],
)
def test_wrong_options(warehouse, options, changed, message):
    given = {key: value for key, value in (options | changed).items() if value is not None}
    with pytest.raises(InvalidOption, match=message):
        paimon.open_catalog(warehouse, options=given)


@pytest.mark.parametrize("local", [True, False])
def test_the_memory_of_the_cache_is_an_option(warehouse, table, options, local):
    given = {**(options if local else {}), "cache.manifest.max-memory": "3 mb"}
    cache = paimon.open_catalog(warehouse, options=given).table("db.t").context.manifests.cache
    assert (cache.max_bytes, cache.files is not None) == (3 << 20, local)
    assert pickle.loads(pickle.dumps(cache)).max_bytes == 3 << 20  # noqa: S301
