import pytest

from paimon_core.datafile.format_rules import check_formats
from paimon_core.errors import UnsupportedFeature
from paimon_core.options import TableOptions
from tests.support.data_files import schema_of


def check(types, **options):
    options = {k.replace("__", "."): v for k, v in options.items()}
    check_formats(schema_of(types, keys=["k"], options=options), TableOptions.parse(options))


@pytest.mark.parametrize(
    "options",
    [
        {"file__format": "avro"},
        {"file__format__per__level": "0:avro"},
        {"file__format__per__level": "0:orc,1:parquet,2:avro"},
        {"changelog-file__format": "avro"},
    ],
)
def test_a_column_that_avro_does_not_hold(options):
    check({"k": "INT", "t": "TIMESTAMP(6)"}, **options)
    with pytest.raises(UnsupportedFeature, match=r"format avro: column 't': Avro has no type TIMESTAMP\(9\)"):
        check({"k": "INT", "t": "TIMESTAMP(9)"}, **options)


@pytest.mark.parametrize(
    ("form", "text", "name"),
    [
        ("orc", "VARIANT", "VARIANT"),
        ("orc", "ROW<a ARRAY<VARIANT>>", "VARIANT"),
        ("avro", "VARIANT", "VARIANT"),
        ("avro", "MULTISET<INT>", "MULTISET<INT>"),
        ("avro", "ARRAY<TIMESTAMP(9)>", r"TIMESTAMP\(9\)"),
        ("avro", "TIME(4)", r"TIME\(4\)"),
    ],
)
def test_types_that_java_does_not_store_in_a_format_are_refused_by_name(form, text, name):
    with pytest.raises(UnsupportedFeature, match=f"format {form}: column 'v': .* has no type {name}"):
        check({"k": "INT", "v": text}, file__format=form)
    check({"k": "INT", "v": text, "m": "MULTISET<STRING>"}, file__format="parquet")
    check({"k": "INT", "m": "MULTISET<STRING>"}, file__format=form)


def test_a_format_that_no_level_has_asks_for_nothing():
    check({"k": "INT", "t": "TIMESTAMP(9)"}, file__format="orc")
    check({"k": "INT", "t": "TIMESTAMP(9)"})


def test_compressions_that_a_format_lacks():
    check(
        {"k": "INT"}, file__format__per__level="0:avro", file__compression__per__level="0:zstd", file__compression="lz4"
    )
    with pytest.raises(UnsupportedFeature, match="avro cannot be compressed with lz4"):
        check({"k": "INT"}, file__format__per__level="0:avro", file__compression__per__level="0:lz4")
    with pytest.raises(UnsupportedFeature, match="avro cannot be compressed with lz4"):
        check({"k": "INT"}, **{"changelog-file__format": "avro", "changelog-file__compression": "lz4"})
    for form, codec in (("parquet", "bzip2"), ("parquet", "zlib"), ("orc", "deflate"), ("avro", "zlib")):
        with pytest.raises(UnsupportedFeature, match=f"{form} cannot be compressed with {codec}"):
            check({"k": "INT"}, file__format=form, file__compression=codec)
    with pytest.raises(UnsupportedFeature, match=r"zstd-level.*format orc"):
        check({"k": "INT"}, file__format="orc", **{"file__compression__zstd-level": "9"})
    check({"k": "INT"}, file__format="orc", file__compression="lz4", **{"file__compression__zstd-level": "9"})
