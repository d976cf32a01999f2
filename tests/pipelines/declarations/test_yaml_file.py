from datetime import date
from pathlib import Path

import pytest

from paimon_lake.declarations import SettingsError
from paimon_lake.declarations.yaml_file import YamlFile, read_yaml


def read(tmp_path: Path, text: str | bytes) -> YamlFile:
    path = tmp_path / "f.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_yaml(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-7", -7),
        ("0x1f", 31),
        ("010", "010"),
        ("12:30", "12:30"),
        ("1:30.5", "1:30.5"),
        ("2.5", 2.5),
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("on", "on"),
        ("N", "N"),
        ("!!bool on", "on"),
        ("~", None),
        ("", None),
        ("2024-02-29", date(2024, 2, 29)),
        ('"2024-02-29"', "2024-02-29"),
        ("!!str 2024-02-29", "2024-02-29"),
        ("!!int '5'", 5),
        ("=", "="),
        ("[a, 1, null]", ["a", 1, None]),
        ("|\n  two\n  lines", "two\nlines\n"),
    ],
)
def test_values(tmp_path: Path, text: str, value: object) -> None:
    assert read(tmp_path, f"k: {text}\n").values == {"k": value}


def test_keys_are_texts_as_they_are_written(tmp_path: Path) -> None:
    assert list(read(tmp_path, "on: 1\n2024-01-01: 2\n010: 3\nnull: 4\n").values) == ["on", "2024-01-01", "010", "null"]


def test_every_key_has_its_line(tmp_path: Path) -> None:
    file = read(tmp_path, "# a\na:\n  b: 1\n  c:\n    - x\n    - {d: 2}\n")
    assert file.lines == {
        ("a",): 2,
        ("a", "b"): 3,
        ("a", "c"): 4,
        ("a", "c", 0): 5,
        ("a", "c", 1): 6,
        ("a", "c", 1, "d"): 6,
    }
    assert (file.line(("a", "c", 1, "none")), file.line(("none",))) == (6, 0)


def test_a_number_keeps_its_text(tmp_path: Path) -> None:
    assert read(tmp_path, "k: 1.10\n").values["k"].written == "1.10"


def test_anchors_and_aliases(tmp_path: Path) -> None:
    assert read(tmp_path, "a: &x [1, {b: 2}]\nc: *x\n").values == {"a": [1, {"b": 2}], "c": [1, {"b": 2}]}


def test_merge_keys_come_first_and_give_way_to_own_keys(tmp_path: Path) -> None:
    file = read(tmp_path, "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc:\n  z: 5\n  <<: [*a, *b]\n  w: 6\n")
    assert file.values["c"] == {"x": 1, "y": 2, "z": 5, "w": 6}
    assert (file.line(("c", "x")), file.line(("c", "z"))) == (1, 4)
    assert read(tmp_path, "a: &a {x: 1}\nb: {<<: *a, x: 2}\n").values["b"] == {"x": 2}
    assert read(tmp_path, '"<<": 1\n').values == {"<<": 1}


def test_a_mark_of_the_byte_order_is_no_text(tmp_path: Path) -> None:
    assert read(tmp_path, b"\xef\xbb\xbfa: 1\n").values == {"a": 1}


def test_an_empty_file_has_no_values(tmp_path: Path) -> None:
    assert read(tmp_path, "# nothing\n").values == {}


def test_a_file_that_is_not_there_or_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.yaml does not exist"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(SettingsError, match="cannot be read: Is a directory"):
        read_yaml(tmp_path)
