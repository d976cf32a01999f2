import pytest

from paimon_core.datafile.formats import format_of
from paimon_core.errors import UnsupportedFeature
from tests.support.data_files import Bucket, schema_of


def test_the_format_is_the_last_part_of_the_name():
    assert [format_of(f"/t/bucket-0/data-0.{kind}") for kind in ("parquet", "orc", "avro")] == [
        "parquet",
        "orc",
        "avro",
    ]
    for name in ("/t/data-0.lance", "/t.orc/data", "/t/data-0.orc.tmp"):
        with pytest.raises(UnsupportedFeature, match="is not supported"):
            format_of(name)


def test_a_file_keeps_its_format_whatever_the_options_say_later():
    orc = Bucket(schema_of({"k": "INT"}, options={"file.format": "orc"}))
    (file,) = orc.write(orc.table({"k": [1, None]}))
    assert file.file_name.endswith("-0.orc")
    later = Bucket(schema_of({"k": "INT"}, options={"file.format": "avro"}), orc.paths)
    assert later.read(file)["k"].to_pylist() == [1, None]
    with pytest.raises(UnsupportedFeature, match=r"foreign\.lance: format 'lance' is not supported"):
        later.read(later.put_bytes(b"x", 1, "foreign.lance"))
