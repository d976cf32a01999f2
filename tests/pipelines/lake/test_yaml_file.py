from datetime import date
from pathlib import Path

import pytest

from pipelines.lake import SettingsError
from pipelines.lake.yaml_file import YamlFile, read_yaml


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


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGE_BOMB = "a: &a {x: 1}\n" + "".join(
    f"k{n}: &k{n} {{<<: [{','.join(['*k' + str(n - 1) if n else '*a'] * 9)}], y{n}: 1}}\n" for n in range(40)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3: the key a occurs twice"),
        ("a:\n  b: 1\n  'b': 2\n", "f.yaml:3: the key a.b occurs twice"),
        ("a:\n\tb: 1\n", "f.yaml:2: a tab at the start of a value: YAML allows only spaces there"),
        ("a: 1\n\tb: 1\n", "f.yaml:2: a tab at the start of a value: YAML allows only spaces there"),
        ("- a\n- b\n", "f.yaml: the file must be a mapping of keys to values, not a list"),
        ("just a text\n", "f.yaml: the file must be a mapping of keys to values, not 'just a text'"),
        ("a: 1\nb: x\x00y\n", "f.yaml:2: the control character U+0000 is not allowed"),
        ("a: \x1b[0m\n", "f.yaml:1: the control character U+001B is not allowed"),
        (b"a: 1\nb: \xff\n", "f.yaml:2: the file is not UTF-8: byte 8 is invalid"),
        ("? [a, b]\n: 1\n", "f.yaml:1: a key of the file is a list or a mapping: keys must be texts"),
        ("a:\n  {b: 1}: 2\n", "f.yaml:2: a key of a is a list or a mapping: keys must be texts"),
        ("a:\n  '': 2\n", "f.yaml:2: a key of a is empty"),
        ("a: !!python/object:os.system {}\n", "f.yaml:1: the tag !!python/object:os.system is not allowed"),
        ("a: !!python/name:os.system ''\n", "f.yaml:1: the tag !!python/name:os.system is not allowed"),
        ("a: !own 1\n", "f.yaml:1: the tag !own is not allowed: only plain values are read"),
        ("a: !!binary aGk=\n", "f.yaml:1: the tag !!binary is not allowed"),
        ("a: !!set {x}\n", "f.yaml:1: the tag !!set is not allowed"),
        ("!own k: 1\n", "f.yaml:1: the tag !own is not allowed"),
        ("a: 2024-02-30\n", "f.yaml:1: a: '2024-02-30' is not a date or time"),
        ("a: !!int five\n", "f.yaml:1: a: 'five' is not a whole number"),
        ("a: !!float x\n", "f.yaml:1: a: 'x' is not a number"),
        ("a: !!bool x\n", "f.yaml:1: a: 'x' is not true or false"),
        ("a: *b\n", "f.yaml:1: the alias *b names no anchor above it"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2: a second document starts here (---): the file must have one"),
        ("a: [1, 2\nb: 3\n", "f.yaml:2: the file is not valid YAML: while parsing a flow sequence"),
        ("a: b: c\n", "f.yaml:1: the file is not valid YAML: mapping values are not allowed in this context"),
        ("a: 'x\n", "f.yaml:2: the file is not valid YAML: while scanning a quoted scalar"),
        ("a: 1\nb: {<<: 5}\n", "f.yaml:2: b.<< must be a mapping, such as *alias"),
        ("a: &a {<<: *a}\n", "f.yaml:1: mappings are merged more than 32 levels deep"),
        ("b: &b {x: 1}\na:\n  <<: *b\n  <<: *b\n", "f.yaml:1: the key a.<< occurs twice: write <<: [*one, *other]"),
        ("a: &a [*a]\n", "f.yaml:1: values are nested more than 32 levels deep"),
        ("a: " + "[" * 200 + "]" * 200, "f.yaml:1: values are nested more than 32 levels deep"),
        ("a: " + "[" * 50_000 + "]" * 50_000, "f.yaml"),
        (BOMB, "the file has more than 100,000 values; each alias counts with all of its values"),
        (MERGE_BOMB, "the file has more than 100,000 values; each alias counts with all of its values"),
        ("a: " + "x" * (1 << 20), "f.yaml: the file is larger than 1 MiB"),
    ],
    ids=lambda one: str(one)[:24].encode("unicode_escape").decode(),
)
def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | bytes, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError) as raised:
        read(tmp_path, text)
    assert message in str(raised.value)
    assert str(raised.value).startswith("f.yaml:")
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_or_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.yaml does not exist"):
        read_yaml(tmp_path / "none.yaml")
    with pytest.raises(SettingsError, match="cannot be read: Is a directory"):
        read_yaml(tmp_path)
