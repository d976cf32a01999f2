"""The public surface is a list: a name enters or leaves it here, on purpose."""

import subprocess
import sys

import paimon_core
import paimon_core.spark
from paimon_core import errors

NAMES = {
    "Catalog",
    "ColumnStatistics",
    "CommitKind",
    "CommitMessage",
    "DataField",
    "DataType",
    "ExpireReport",
    "FilesystemCatalog",
    "Group",
    "GroupVersion",
    "Identifier",
    "Plan",
    "Predicate",
    "Prepared",
    "Scan",
    "Snapshot",
    "Split",
    "Statistics",
    "Table",
    "TableSchema",
    "TableWriter",
    "Tag",
    "col",
    "open_catalog",
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
    "SchemaMismatch",
    "SnapshotNotFound",
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
        "compact_spark",
        "plan_orphan_removal_spark",
        "read_spark",
        "write_spark",
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


def test_importing_paimon_core_imports_no_engine():
    # pandas is not among them: pyarrow.dataset imports it where it is installed
    code = "import sys, paimon_core; print(sorted({'pyspark', 'dagster', 'polars'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
