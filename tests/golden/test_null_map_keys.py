"""Maps with null keys in ORC files of Java: Arrow ends the process when it reads one (java-null-keys/README.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

import paimon_core as paimon
from paimon_core.errors import UnsupportedFeature

TABLE = paimon.open_catalog(str(Path(__file__).parent / "java-null-keys")).table("d.maps")


@pytest.mark.parametrize("column", ["m", "n"])
def test_a_null_key_is_refused_by_the_names_of_the_file_and_the_column(column):
    with pytest.raises(
        UnsupportedFeature, match=rf"data-2053cef8.*\.orc: column '{column}' contains a map with a null key"
    ):
        TABLE.scan(columns=[column]).to_arrow()


def test_the_other_columns_are_read():
    assert TABLE.scan(columns=["id"]).to_arrow()["id"].to_pylist() == [1, 2]
