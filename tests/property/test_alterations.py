"""Alterations: field ids are never used twice, texts are read back, and bad texts only raise the library's errors."""

import contextlib
from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from paimon_core.alter.declared import changes_to
from paimon_core.alter.evolve import evolve
from paimon_core.alter.text import parse_changes
from paimon_core.errors import InvalidRequest
from paimon_core.schema import TableSchema
from tests.differential.evolution import evolution
from tests.support.examples import examples

WORDS = [
    *("ADD", "COLUMN", "DROP", "RENAME", "ALTER", "TYPE", "SET", "NOT", "NULL", "DEFAULT", "COMMENT", "AFTER", "FIRST"),
    *(
        "TO",
        "RESET",
        "a",
        "`b c`",
        "1",
        "-2.5",
        "'x'",
        "INT",
        "DECIMAL(3, 1)",
        "(",
        ")",
        "=",
        ",",
        ".",
        "<",
        ">",
        "`",
        "'",
    ),
]


def schemas(seed):
    """Return all schemas of a random history."""
    history = evolution(seed)
    out = [history.schema]
    for step in history.steps:
        if isinstance(step, list) and not isinstance(step[0], list):
            out.append(evolve(out[-1], step))
    return out


def ids(members):
    for member in members:
        if member.id >= 0:
            yield member.id, member
        yield from ids(member.type.children)


def shape(member):
    """Return a member and all inside of it; fields of a ROW keep their order, so it does not count."""
    inner = sorted(((c.name, shape(c)) for c in member.type.children), key=lambda pair: pair[0])
    return member.description, str(replace(member.type, children=())) if not inner else member.type.root, inner


@settings(deadline=None, max_examples=examples(50))
@given(st.integers(0, 10**6))
def test_an_id_is_one_column_for_ever(seed):
    highest, born = -1, {}
    for schema in schemas(seed):
        held = [number for number, _ in ids(schema.fields)]
        assert len(set(held)) == len(held)
        new = set(held) - set(born)
        assert all(number > highest for number in new)
        born |= dict.fromkeys(new, schema.id)
        gone = set(born) - set(held)
        born |= dict.fromkeys(gone, None)
        assert all(born[number] is not None for number in held)
        assert highest <= schema.highest_field_id >= max(held)
        highest = schema.highest_field_id
        assert TableSchema.from_json(schema.to_json()) == schema


@settings(deadline=None, max_examples=examples(50))
@given(st.integers(0, 10**6))
def test_the_changes_to_a_schema_lead_to_it(seed):
    first, *_, last = [*schemas(seed)[:1], *schemas(seed)[:2]]
    assert changes_to(first, first) == []
    renamed = dict(zip(first.primary_keys, last.primary_keys, strict=True))
    try:
        found = evolve(first, changes_to(first, last, renamed={old: new for old, new in renamed.items() if old != new}))
    except InvalidRequest as error:
        assume("cannot change from" not in str(error))  # dropped, and added with a type that has no cast
        raise
    assert [(f.name, f.default, shape(f)) for f in found.fields] == [(f.name, f.default, shape(f)) for f in last.fields]
    assert changes_to(found, last) == []
    assert dict(found.options) == dict(last.options)


@given(st.one_of(st.text(max_size=40), st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)))
def test_a_bad_text_raises_the_error_of_the_library(text):
    with contextlib.suppress(InvalidRequest):
        parse_changes(text)
