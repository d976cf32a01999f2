"""What a call accepts is read again: names, texts and types of sizes around the limits, in any order.

A call that raises an error of the library changes nothing that a reader sees.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import paimon_core as paimon
from paimon_core.alter import AddColumn, RenameColumn, SetOption, UpdateColumnComment, UpdateComment, UpdateDefault
from paimon_core.catalog.catalog import Catalog
from paimon_core.limits import (
    COLUMN_NAME_BYTES,
    COMPONENT_BYTES,
    FILE_PREFIX_BYTES,
    NAME_BYTES,
    PROPERTIES_BYTES,
    TEXT_BYTES,
    TYPE_DEPTH,
    USER_BYTES,
)
from tests.support.examples import examples

_numbers = itertools.count()
LETTERS = st.sampled_from(["x", "ü", "😀", "`", "'", "/", ".", " ", "\0", "\n", "\u202e", "\ud800"])
PLAIN = st.sampled_from(["x", "ü", "😀"])


@st.composite
def texts(draw: st.DrawFn, limit: int, letters: st.SearchStrategy[str] = PLAIN) -> str:
    """A text of about ``limit`` bytes, or a short one, with one letter that may be strange."""
    fill, strange = draw(PLAIN), draw(letters)
    size = draw(st.sampled_from([0, 1, 7, limit - 1, limit, limit + 1, 2 * limit]))
    text = fill * (size // len(fill.encode())) + "x" * (size % len(fill.encode()))
    return strange + text[len(strange.encode(errors="surrogatepass")) :] if text else text


def nested(levels: int, kind: str) -> str:
    return {"ARRAY": "ARRAY<", "MAP": "MAP<INT, ", "ROW": "ROW<x "}[kind] * levels + "INT" + ">" * levels


TYPES = st.builds(
    nested,
    st.sampled_from([0, 1, TYPE_DEPTH - 1, TYPE_DEPTH, TYPE_DEPTH + 1, 70]),
    st.sampled_from(["ARRAY", "MAP", "ROW"]),
)
COLUMN_NAMES = texts(COLUMN_NAME_BYTES, LETTERS)
WHOLE = st.sampled_from([-(2**63) - 1, -(2**63), -1, 0, 1, 2**63 - 2, 2**63 - 1, 2**63])


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, Callable[[paimon.Table], Any]]:
    """One call on a table (p STRING partition, v STRING), and its name."""
    what = draw(
        st.sampled_from(["row", "properties", "user", "watermark", "tag", "branch", "consumer", "alter", "option"])
    )
    row = {"p": "a", "v": "b"}
    match what:
        case "row":
            value = draw(texts(COMPONENT_BYTES - 2, LETTERS))
            return what, lambda table: table.write([{"p": value, "v": value}])
        case "properties":
            # Two bytes for each line end, four for each pair of quotes: the text of the member takes 10 bytes.
            properties = {
                draw(texts(20, LETTERS)): "x" * draw(st.sampled_from([1, PROPERTIES_BYTES - 60, PROPERTIES_BYTES]))
            }
            return what, lambda table: table.write([row], properties=properties)
        case "user":
            user, number = draw(texts(USER_BYTES, LETTERS)), draw(WHOLE)
            return what, lambda table: table.write([row], user=user, identifier=number)
        case "watermark":
            mark = draw(WHOLE)
            return what, lambda table: table.write([row], watermark=mark)
        case "tag":
            name = draw(texts(NAME_BYTES, LETTERS))
            kept = draw(st.sampled_from([None, datetime.timedelta(milliseconds=1), datetime.timedelta.max]))
            return what, lambda table: table.tags.create(name, keep_for=kept)
        case "branch":
            name = draw(texts(NAME_BYTES, LETTERS))
            return what, lambda table: table.branches.create(name)
        case "consumer":
            name, at = draw(texts(NAME_BYTES, LETTERS)), draw(WHOLE)
            return what, lambda table: table.maintenance.reset_consumer(name, at)
        case "option":
            key = draw(st.sampled_from(["changelog-file.prefix", "commit.user-prefix", "partition.default-name"]))
            value = draw(texts(draw(st.sampled_from([FILE_PREFIX_BYTES, USER_BYTES, TEXT_BYTES])), LETTERS))
            return what, lambda table: table.alter(SetOption(key, value))
    name, text, kind = draw(COLUMN_NAMES), draw(texts(TEXT_BYTES, LETTERS)), draw(TYPES)
    change = draw(
        st.sampled_from(
            [
                AddColumn(name, kind, text),
                AddColumn(name, "STRING", default=text),
                AddColumn("r", f"ROW<`{name.replace('`', '``')}` INT>"),
                RenameColumn("v", name),
                UpdateComment(text),
                UpdateColumnComment("v", text),
                UpdateDefault("v", text),
            ]
        )
    )
    return f"{what} {type(change).__name__}", lambda table: table.alter(change)


def read(catalog: Catalog) -> Any:
    """Read all of db.t as a new process does."""
    table = catalog.table("db.t")
    tags = [(tag.name, table.at(tag=tag.name).scan().to_arrow().num_rows) for tag in table.tags.list()]
    inspected = [
        getattr(table.inspect, what)().num_rows for what in ("snapshots", "schemas", "tags", "partitions", "options")
    ]
    branches = [(name, table.branch(name).scan().count()) for name in table.branches.list()]
    rows = [table.at(snapshot=n).scan().to_arrow() for n in table.context.snapshots.ids()]
    return table.schema, tags, inspected, branches, rows, table.maintenance.consumers()


@given(st.lists(calls(), min_size=1, max_size=4))
@settings(deadline=None, max_examples=examples(25), phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_what_is_accepted_is_read_again(made: list[tuple[str, Callable[[paimon.Table], Any]]]) -> None:
    where = f"memory://accepted-{next(_numbers)}"
    catalog = paimon.open_catalog(where)
    catalog.create_database("db")
    catalog.create_table("db.t", "p STRING, v STRING", partition_by=["p"]).write([{"p": "a", "v": "b"}])
    state = read(catalog)
    for _, call in made:
        try:
            call(catalog.table("db.t"))
        except paimon.PaimonError:
            assert read(paimon.open_catalog(where)) == state
        else:
            state = read(paimon.open_catalog(where))


@given(COLUMN_NAMES, TYPES, texts(TEXT_BYTES, LETTERS), st.sampled_from(["parquet", "orc", "avro"]))
@settings(deadline=None, max_examples=examples(20), phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_a_table_that_is_created_takes_rows(name: str, kind: str, comment: str, form: str) -> None:
    catalog = paimon.open_catalog(f"memory://accepted-{next(_numbers)}")
    catalog.create_database("db")
    try:
        table = catalog.create_table("db.t", {"k": "INT", name: kind}, options={"file.format": form}, comment=comment)
    except paimon.PaimonError:
        with pytest.raises(paimon.TableNotFound):
            catalog.table("db.t")
        return
    table.write([{"k": 1, name: None}])
    assert catalog.table("db.t").scan().to_arrow().to_pylist() == [{"k": 1, name: None}]
