"""FileFormat: the kind of the files that are read, and the options of this kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from paimon_core.errors import InvalidOption, InvalidRequest, UnsupportedFeature

KINDS = ("parquet", "orc", "csv", "json")
_OPTIONS = {
    "parquet": (),
    "orc": (),
    "csv": ("delimiter", "header", "quote", "escape", "null_value", "multiline", "timestamp_format"),
    "json": ("timestamp_format",),
}
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4", ".br": "brotli"}
"""The compression of a whole file by the last ending of its name."""
UNREADABLE = (".snappy", ".zip", ".xz", ".7z", ".lzo", ".z", ".tar", ".tgz", ".rar", ".lzma", ".zlib", ".deflate")
"""Endings of files that cannot be read as a stream."""


@dataclass(frozen=True)
class FileFormat:
    """The kind of the files and its options; names and defaults are those of a load in declarations."""

    kind: str
    delimiter: str = ","
    header: bool = True
    quote: str = '"'
    escape: str = ""
    null_value: tuple[str, ...] = ("",)
    multiline: bool = False
    timestamp_format: str = ""

    @staticmethod
    def of(kind: str, options: Mapping[str, Any] | None) -> FileFormat:
        """Return the format of ``kind`` with ``options``.

        Raises InvalidRequest for an unknown kind, InvalidOption for an option that the kind does not have and for a
        wrong value.
        """
        if kind not in KINDS:
            raise InvalidRequest(f"file format {kind!r:.60} is not one of {', '.join(KINDS)}")
        if options is not None and not isinstance(options, Mapping):
            raise InvalidOption(f"options of files must map names to values, not be a {type(options).__name__}")
        values = {}
        for name, value in (options or {}).items():
            if name not in _OPTIONS[kind]:
                known = ", ".join(_OPTIONS[kind]) or "none"
                raise InvalidOption(f"{name!r} is not an option of {kind} files; the options are: {known}", option=name)
            values[name] = _checked(name, value)
        made = FileFormat(kind, **values)
        special = [c for c in (made.delimiter, made.quote, made.escape) if c]
        if len(set(special)) < len(special):
            raise InvalidOption("the options delimiter, quote and escape must be different characters", option="quote")
        return made

    @property
    def is_text(self) -> bool:
        """Whether the files have lines of text."""
        return self.kind in ("csv", "json")

    def is_divisible(self, path: str) -> bool:
        """Whether several tasks can read parts of the file; raises UnsupportedFeature as ``compression`` does."""
        return self.compression(path) is None and not self.multiline

    def compression(self, path: str) -> str | None:
        """Return the compression of a whole file, by the end of its name; None for an uncompressed file.

        Raises UnsupportedFeature for a compression that cannot be read as a stream, and for a compressed Parquet or ORC
        file, because these formats compress their content themselves.
        """
        found = COMPRESSIONS.get(path[path.rfind(".") :].lower())
        if path.lower().endswith(UNREADABLE) or (found is not None and not self.is_text):
            raise UnsupportedFeature(f"file {path}: unpack it first; {self.kind} files in this form cannot be read")
        return found


_DEFAULTS: dict[str, Any] = {f.name: f.default for f in fields(FileFormat)}


def _checked(name: str, value: Any) -> Any:
    """Return the value of an option; raises InvalidOption when it has a wrong type."""
    if name == "null_value":
        texts = (value,) if isinstance(value, str) else value
        if isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts):
            return tuple(texts)
        raise InvalidOption(f"option null_value must be a text or a list of texts, not {value!r:.60}", option=name)
    wanted = type(_DEFAULTS[name])
    if type(value) is not wanted:
        words = {bool: "True or False", str: "a text"}
        raise InvalidOption(f"option {name} must be {words[wanted]}, not {value!r:.60}", option=name)
    if name in ("delimiter", "quote", "escape"):
        is_one = len(value) == 1 and value.isascii() and value not in "\r\n\0"
        if not is_one and (value or name == "delimiter"):
            raise InvalidOption(f"option {name} must be one ASCII character, not {value!r:.60}", option=name)
    return value
