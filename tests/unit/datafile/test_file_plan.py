import pytest

from paimon_core.datafile.file_plan import FilePlan
from paimon_core.metadata.data_file import FileSource
from paimon_core.options import TableOptions


def data(level=0, source=FileSource.APPEND, **options):
    return FilePlan.data(TableOptions.parse({k.replace("__", "."): v for k, v in options.items()}), level, source)


def changelog(options, level=0):
    return FilePlan.changelog(TableOptions.parse(options), level)


def test_data_files_by_default():
    assert data() == FilePlan("data-", 0, FileSource.APPEND, "parquet", "zstd", "truncate(16)", 2**63 - 1)


def test_the_level_decides_the_compression():
    options = TableOptions.parse({"file.compression": "snappy", "file.compression.per.level": "0:lz4,5:zstd"})
    chosen = [FilePlan.data(options, level, FileSource.COMPACT).compression for level in range(6)]
    assert chosen == ["lz4", "snappy", "snappy", "snappy", "snappy", "zstd"]


def test_only_files_of_new_rows_are_limited_in_rows():
    options = TableOptions.parse({"target-file-row-num": "7"})
    assert FilePlan.data(options, 0, FileSource.APPEND).row_limit == 7
    assert FilePlan.data(options, 0, FileSource.COMPACT).row_limit is None
    assert FilePlan.changelog(options, 0).row_limit is None


@pytest.mark.parametrize("level", [0, 5])
def test_changelog_files_have_the_settings_of_data_files_by_default(level):
    options = {"file.compression.per.level": "0:gzip", "metadata.stats-mode": "counts"}
    compression = {0: "gzip", 5: "zstd"}[level]
    assert changelog(options, level) == FilePlan(
        "changelog-", level, FileSource.APPEND, "parquet", compression, "counts", None, indexed=False
    )


def test_changelog_files_have_options_of_their_own():
    options = {
        "file.compression.per.level": "0:gzip",
        "changelog-file.compression": "snappy",
        "changelog-file.stats-mode": "none",
        "changelog-file.prefix": "log-",
    }
    assert changelog(options, 2) == FilePlan("log-", 2, FileSource.APPEND, "parquet", "snappy", "none", None, False)


@pytest.mark.parametrize(("codec", "end"), [("zstd", ".zst.orc"), ("gzip", ".gz.orc"), ("none", ".orc")])
def test_names_contain_the_compression_of_the_table(codec, end):
    options = {"file.format": "orc", "file.compression": codec, "file.compression.per.level": "0:snappy"}
    options |= {"file.suffix.include.compression": "true", "data-file.prefix": "part-"}
    plan = FilePlan.data(TableOptions.parse(options), 0, FileSource.APPEND)
    assert (plan.prefix, plan.suffix, changelog(options).suffix) == ("part-", end, end)


def test_the_level_decides_the_format():
    options = TableOptions.parse({"file.format": "orc", "file.format.per.level": "0:avro,5:parquet"})
    plans = [FilePlan.data(options, level, FileSource.COMPACT) for level in (0, 1, 5)]
    assert [plan.format for plan in plans] == ["avro", "orc", "parquet"]
    assert [FilePlan.changelog(options, level).format for level in (0, 1, 5)] == ["avro", "orc", "parquet"]
    options = TableOptions.parse({"file.format.per.level": "0:avro", "changelog-file.format": "orc"})
    assert [FilePlan.changelog(options, level).format for level in (0, 1)] == ["orc", "orc"]


def test_the_level_decides_the_statistics():
    options = {"metadata.stats-mode": "counts", "metadata.stats-mode.per.level": "0:none,5:truncate(9)"}
    assert [changelog(options, level).stats_mode for level in (0, 1, 5)] == ["none", "counts", "truncate(9)"]
    parsed = TableOptions.parse(options | {"changelog-file.stats-mode": "full"})
    assert FilePlan.data(parsed, 0, FileSource.APPEND).stats_mode == "none"
    assert FilePlan.changelog(parsed, 0).stats_mode == "full"
