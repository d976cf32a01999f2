import ast
from dataclasses import replace
from pathlib import Path

import paimon_core
from paimon_core.options import OPTIONS, TableOptions
from paimon_core.options.known.other_engines import by_subject
from paimon_core.options.option import Kind, Support
from paimon_core.options.registry import OLDER_NAMES, PREFIXES, SUBJECTS, option_of

GOLDEN = Path(__file__).parents[2] / "golden" / "options-2.1.txt"
SOURCES = Path(paimon_core.__file__).parent
OTHER_KIND = {"orc.column.encoding.direct": "integer", "parquet.enable.dictionary": "integer"}
"""Paimon states another type than it reads: a list of columns, and true or false."""
ALWAYS_SO = {"commit.force-compact", "lookup-wait", "snapshot.expire.execution-mode"}
"""Commits always wait for compaction and expiry: the supported values ask for what happens anyway."""
ATTRIBUTES = {
    "fields.*.sequence-group": "sequence_groups",
    "fields.default-aggregate-function": "default_function",
}


def golden():
    """options-2.1.txt: key, type, default and allowed words of each option of Paimon 2.1, Flink and Spark included."""
    for line in GOLDEN.read_text().splitlines():
        key, kind, default, values = (part.strip() for part in f"{line} | ".split("|")[:4])
        yield key, kind, default, {value.strip().lower() for value in values.split(",") if value.strip()}


def test_every_option_of_paimon_is_known_with_its_type_and_default():
    for key, kind, default, values in golden():
        option = OPTIONS[key]
        assert OTHER_KIND.get(key, option.kind.value) == kind, key
        assert option.default == default, key
        if option.kind is Kind.ENUM:
            assert {v.lower() for v in option.values} == values, key


def test_options_that_paimon_2_1_lacks_are_those_of_1_4_and_of_columns():
    more = OPTIONS.keys() - {key for key, *_ in golden()}
    assert {key for key in more if not key.startswith("fields.")} == {
        "blob-external-storage-field",
        "blob-external-storage-path",
        "manifest.format",
        "upsert-key",
    }


def test_every_option_stands_once():
    assert len(OPTIONS) == sum(len(options) for options in SUBJECTS.values())
    assert not OLDER_NAMES.keys() & OPTIONS.keys()


def test_every_record_of_the_data_file_has_a_subject_of_the_registry():
    others = by_subject()
    assert others.keys() <= SUBJECTS.keys()
    for subject, options in others.items():
        assert all(option.support is not Support.OBEYED for option in options)
        assert SUBJECTS[subject][-len(options) :] == tuple(replace(o, parse=OPTIONS[o.key].parse) for o in options)


def test_every_record_is_complete():
    """Each default is a value that its option accepts, also for a new table; each option has one line of meaning."""
    for option in (*OPTIONS.values(), *PREFIXES):
        assert option.meaning, option.key
        assert "\n" not in option.meaning, option.key
        if option.default and not option.argument and "*" not in option.key:
            TableOptions.parse({option.key: option.default}, creating=True)
        if option.support is Support.OBEYED and "*" not in option.key:
            assert TableOptions.parse({})[option.key] == option.value, option.key


def test_each_key_stands_for_an_option():
    assert option_of("write.compaction-skip") is OPTIONS["write-only"]
    assert option_of("fields.a.b.sequence-group").key == "fields.*.sequence-group"
    assert option_of("fields.a.pk-vector.index.type").key == "fields.*.pk-vector.*"
    assert option_of("parquet.page.size").key == "parquet.*"
    assert option_of("metadata.iceberg.storage") is OPTIONS["metadata.iceberg.storage"]
    for key in ("owner", "fields.a.default-value", "bukcet", ""):
        assert option_of(key) is None


def test_every_obeyed_option_is_used_outside_of_the_options_package():
    """The name of the option, or of the attribute of FieldOptions, is in the code that obeys it."""
    words = set()
    for path in SOURCES.rglob("*.py"):
        if path.is_relative_to(SOURCES / "options") and path.name not in ("scan_position.py", "table_options.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                words.add(node.value)
            elif isinstance(node, ast.Attribute):
                words.add(node.attr)
    unused = []
    for option in OPTIONS.values():
        attribute = option.key.removeprefix("fields.*.").replace("-", "_")
        names = {option.key, ATTRIBUTES.get(option.key, attribute)}
        if option.support is Support.OBEYED and not names & words:
            unused.append(option.key)
    assert set(unused) == ALWAYS_SO
