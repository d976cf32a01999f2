"""Random CSV files with bad cells and bad lines: rows and rejects are those of a model, for any splits and blocks."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.pipelines.sources.files.reading import columns, read
from tests.support.examples import examples

SCHEMA = columns(i="INT", d="DECIMAL(5,2)", s="STRING", t="DATE")
NAMES = SCHEMA.names
BAD = object()


def integer(text: str) -> Any:
    if not re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII):
        return BAD
    return int(text) if -(2**31) <= int(text) < 2**31 else BAD


def decimal(text: str) -> Any:
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", text, re.ASCII):
        return BAD
    value = Decimal(text)
    return value if abs(value) < 1000 and value == round(value, 2) else BAD


def day(text: str) -> Any:
    try:
        return dt.date.fromisoformat(text) if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text, re.ASCII) else BAD
    except ValueError:
        return BAD


READ = {"i": integer, "d": decimal, "s": lambda text: text, "t": day}


def value_of(name: str, text: str, quoted: bool) -> Any:
    if name == "s":
        return None if text == "" and not quoted else text
    trimmed = text.strip(" \t")
    return None if trimmed == "" else READ[name](trimmed)


letters = st.text('ab019.,+-" \té\u2028x', max_size=6)
cells = {
    "i": st.integers(-(2**31) - 2, 2**31 + 1).map(str) | letters,
    "d": st.decimals(-1001, 1001, places=2).map(str) | st.decimals(-11, 11, places=3).map(str) | letters,
    "s": letters,
    "t": st.dates(dt.date(1, 1, 1)).map(str) | st.sampled_from(["2023-02-29", "2024-02-29", "2024-13-01"]) | letters,
}


@st.composite
def lines(draw: st.DrawFn) -> tuple[bytes, Any]:
    """A line without its end, and its row, or the column of its reject ("" for the whole line), or None when empty."""
    kind = draw(st.sampled_from(["row"] * 6 + ["empty", "short", "long", "open", "bytes"]))
    if kind == "empty":
        return b"", None
    row, texts = {}, []
    for name in NAMES:
        text = draw(cells[name])
        quoted = draw(st.booleans()) or "," in text or text.startswith('"')
        texts.append('"' + text.replace('"', '""') + '"' if quoted else text)
        row[name] = value_of(name, text, quoted)
    bad = [name for name in NAMES if row[name] is BAD]
    match kind:
        case "short":
            return ",".join(texts[:3]).encode() or b"x", ""
        case "long":
            return ",".join([*texts, "1"]).encode(), ""
        case "open":
            return ",".join([*texts[:3], '"open']).encode(), ""
        case "bytes":
            return ",".join(texts).encode() + b"\xfe", ""
    return ",".join(texts).encode(), bad[0] if bad else row


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("csv")


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    content=st.lists(lines(), max_size=12),
    end=st.sampled_from([b"\n", b"\r\n"]),
    is_ended=st.booleans(),
    split_bytes=st.integers(1, 200),
    block_bytes=st.integers(1, 200),
)
def test_rows_and_rejects_are_those_of_the_model(folder, content, end, is_ended, split_bytes, block_bytes):
    data = end.join([",".join(NAMES).encode(), *(line for line, _ in content)]) + (end if is_ended else b"")
    rows, rejects = read(folder / "a.csv", data, SCHEMA, "csv", split_bytes=split_bytes, block_bytes=block_bytes)
    assert rows == [row for _, row in content if isinstance(row, dict)]
    wanted = [(at + 2, reject or None) for at, (_, reject) in enumerate(content) if isinstance(reject, str)]
    assert [(line, column) for line, column, *_ in rejects] == wanted
    raws = [line.decode("utf-8", "backslashreplace") for line, reject in content if isinstance(reject, str)]
    assert [raw for *_, raw in rejects] == raws
