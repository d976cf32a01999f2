"""Bad declarations: YAML files that are not read."""

from __future__ import annotations

import re

from paimon_lake.declarations.errors import SettingsError
from paimon_lake.declarations.yaml_file import read_yaml
from tests.bad_inputs.case import Case, Cases, Lake

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGE_BOMB = "a: &a {x: 1}\n" + "".join(
    f"k{n}: &k{n} {{<<: [{','.join(['*k' + str(n - 1) if n else '*a'] * 9)}], y{n}: 1}}\n" for n in range(40)
)
TEXTS: tuple[tuple[str | bytes, str], ...] = (
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
)


def _case(text: str | bytes, message: str) -> Case:
    def call(lake: Lake) -> object:
        return read_yaml(lake.directory / "f.yaml")

    def write(lake: Lake) -> None:
        (lake.directory / "f.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())

    return Case(call, SettingsError, (re.escape(message),), before=write)


CASES: Cases = {
    f"{at} {str(text)[:24].encode('unicode_escape').decode()}": _case(text, message)
    for at, (text, message) in enumerate(TEXTS)
}
