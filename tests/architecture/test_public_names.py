"""The public surface is a list: a name enters or leaves it here, on purpose."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import paimon_core
import paimon_core.spark
from paimon_core import errors

ROOT = Path(__file__).resolve().parents[2]

NAMES = {
    "Catalog",
    "ColumnStatistics",
    "CommitKind",
    "CommitMessage",
    "CompactReport",
    "DataField",
    "DataType",
    "Delete",
    "ExpireReport",
    "FilesystemCatalog",
    "Group",
    "GroupVersion",
    "Identifier",
    "Insert",
    "Plan",
    "Predicate",
    "Prepared",
    "Progress",
    "Scan",
    "Snapshot",
    "Split",
    "Statistics",
    "Table",
    "TableSchema",
    "TableView",
    "TableWriter",
    "Tag",
    "Update",
    "Variant",
    "col",
    "open_catalog",
    "progress",
    "target",
}
ERRORS = {
    "AfterCommitFailed",
    "AlreadyExists",
    "BranchNotFound",
    "CommitConflict",
    "CommitStateUnknown",
    "ConditionalWriteUnsupported",
    "CorruptTable",
    "DatabaseNotFound",
    "InvalidOption",
    "InvalidRequest",
    "NotFound",
    "PaimonError",
    "PlanOutdated",
    "ReadOutdated",
    "SchemaMismatch",
    "SnapshotNotFound",
    "SqlError",
    "StorageError",
    "TableNotFound",
    "TagNotFound",
    "UnsupportedFeature",
}


def test_the_names_of_paimon_core():
    assert set(paimon_core.__all__) == NAMES | ERRORS


def test_the_names_of_paimon_core_spark():
    assert set(paimon_core.spark.__all__) == {
        "PaimonDataSource",
        "apply_spark",
        "changes_spark",
        "compact_database_spark",
        "compact_spark",
        "delete_spark",
        "merge_spark",
        "plan_orphan_removal_spark",
        "read_spark",
        "rescale_spark",
        "rewrite_file_index_spark",
        "session",
        "sort_compact_spark",
        "write_files_spark",
        "update_spark",
        "write_spark",
        "write_stream_spark",
    }


def test_every_error_is_public():
    defined = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.PaimonError)
    }
    assert defined == ERRORS


def test_every_public_name_is_there():
    for module in (paimon_core, paimon_core.spark):
        for name in module.__all__:
            assert hasattr(module, name), f"{module.__name__}.{name}"


ENGINES = {"pyspark", "dagster", "polars", "pandas", "duckdb"}
HEAVY = ENGINES | {
    "asyncio",
    "concurrent.futures",
    "fastavro",
    "fsspec",
    "importlib.metadata",
    "pyarrow.acero",
    "pyarrow.dataset",
    "pyarrow.orc",
    "pyarrow.parquet",
    "requests",
    "sqlalchemy",
    "sqlite3",
    "ssl",
}
"""What takes long to import and is of use to some calls only."""


def loaded_by(code: str, watched: set[str]) -> set[str]:
    """Those of the watched modules that a new process has once it has run the code."""
    code = f"import sys\n{code}\nprint(*({watched!r} & set(sys.modules)), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    return watched & set(done.stdout.split())


def test_importing_paimon_core_loads_nothing_heavy():
    assert loaded_by("import paimon_core", HEAVY | {"pyarrow"}) == set()


def test_the_help_of_the_command_line_loads_nothing_heavy():
    show = "import contextlib, paimon_core.cli.main\nwith contextlib.suppress(SystemExit):\n    {}(['--help'])"
    assert loaded_by(show.format("paimon_core.cli.main.main"), HEAVY) == set()


def test_tables_load_no_engine_and_no_other_format_before_they_are_used():
    formats = {"pyarrow.acero", "pyarrow.dataset", "pyarrow.orc", "paimon_core.datafile.orc.orc_file"}
    late = {"asyncio", "concurrent.futures", "fsspec", "importlib.metadata"}
    assert loaded_by("from paimon_core import Table, TableWriter, open_catalog", ENGINES | formats | late) == set()


def test_names_are_loaded_when_they_are_used():
    code = "from paimon_core import Table, col\nimport paimon_core\nassert paimon_core.Table is Table"
    assert loaded_by(code, {"pyarrow", "paimon_core.table.table"}) == {"pyarrow", "paimon_core.table.table"}
    assert set(paimon_core.__all__) <= set(dir(paimon_core))
    assert paimon_core.Table.__module__ == "paimon_core.table.table"
    with pytest.raises(AttributeError, match="has no attribute 'Tabel'"):
        _ = paimon_core.Tabel


def test_a_task_of_spark_imports_its_own_module_only():
    code = "import paimon_core.spark.packing"
    assert loaded_by(code, {"paimon_core.spark.datasource", "paimon_core.table.table"}) == set()
    assert set(paimon_core.spark.__all__) <= set(dir(paimon_core.spark))
    with pytest.raises(AttributeError, match="has no attribute 'reed_spark'"):
        _ = paimon_core.spark.reed_spark


def test_the_package_says_its_version_and_that_it_has_types():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert paimon_core.__version__ == project["version"]
    assert (ROOT / "paimon_core" / "py.typed").exists()
