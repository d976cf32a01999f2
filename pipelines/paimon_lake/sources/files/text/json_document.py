"""JSON document: read a file that contains one JSON object, or one array of objects, as rows of a table.

The whole file is in memory, so it may have at most ``DOCUMENT_BYTES``; larger data must be written as JSON lines. When
the document is not valid JSON, its objects cannot be separated, and the whole file is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator

import numpy as np
import pyarrow as pa

from paimon_lake.protocol import PipelineError
from paimon_lake.sources.files.rejects import Parsed
from paimon_lake.sources.files.text.blocks import BOM, TextFile
from paimon_lake.sources.files.text.json_rows import JsonReader
from paimon_lake.sources.files.text.records import joined

DOCUMENT_BYTES = 256 << 20
_SPACE = re.compile(r"[ \t\r\n]*")


def read_json(file: TextFile, schema: pa.Schema, required: Collection[str]) -> Iterator[Parsed]:
    """Yield the rows and rejects of a file, in blocks of about ``block_bytes``.

    Raises PipelineError when the file is too large, is not text, or is not a JSON document.
    """
    reader = JsonReader(file, schema, required)
    raws, lines, size = list[bytes](), list[int](), 0
    for raw, line in elements(file):
        raws.append(raw)
        lines.append(line)
        size += len(raw)
        if size >= file.block_bytes:
            yield reader.parse(joined(raws, np.array(lines)), [], lambda: 0)
            raws, lines, size = [], [], 0
    if raws:
        yield reader.parse(joined(raws, np.array(lines)), [], lambda: 0)


def elements(file: TextFile) -> Iterator[tuple[bytes, int]]:
    """Yield the text of each element without line ends, and its line in the file, from 0.

    Raises PipelineError as ``read_json`` does.
    """
    text = _text(file)
    scan = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode
    at = _after_space(text, 0)
    is_array = text[at : at + 1] == "["
    at = _after_space(text, at + is_array)
    line = counted = 0
    while at < len(text) and not (is_array and text[at] == "]"):
        try:
            _, end = scan(text, at)
        except (json.JSONDecodeError, RecursionError) as error:
            place = error.pos if isinstance(error, json.JSONDecodeError) else at
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise _broken(file, text, place, reason) from None
        line, counted = line + text.count("\n", counted, at), at
        yield text[at:end].replace("\r", " ").replace("\n", " ").encode("utf-8", "surrogatepass"), line
        at = _after_space(text, end)
        if not is_array:
            break
        if text[at : at + 1] == ",":
            at = _after_space(text, at + 1)
            if text[at : at + 1] == "]":
                raise _broken(file, text, at, "a value is missing after a comma")
        elif text[at : at + 1] != "]":
            raise _broken(file, text, at, "a comma or ] is missing")
    if is_array:
        if text[at : at + 1] != "]":
            raise _broken(file, text, at, "the array is not closed")
        at = _after_space(text, at + 1)
    if at < len(text):
        raise _broken(file, text, at, "text after the end; for one object a line use jsonl")


def _text(file: TextFile) -> str:
    data = b""
    with file.open() as stream:
        while more := file.read(stream, file.block_bytes):
            data += more
            if len(data) > DOCUMENT_BYTES:
                raise PipelineError(
                    f"file {file.path} is a JSON document of more than {DOCUMENT_BYTES >> 20} MiB; write it as jsonl"
                )
    encoding = "utf-8" if file.file_format.is_utf8 else file.file_format.encoding
    try:
        return data.removeprefix(BOM).decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PipelineError(f"file {file.path} is not valid {encoding} at line {line}") from None


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _broken(file: TextFile, text: str, at: int, reason: str) -> PipelineError:
    line = text.count("\n", 0, at) + 1
    return PipelineError(f"file {file.path} is not a JSON document: {reason}, at line {line}")
