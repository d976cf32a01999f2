"""Options of catalogs, under Paimon's names; a catalog refuses every option that would have no effect on it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paimon_core.errors import InvalidOption
from paimon_core.options.parsers import one_of, parse_bool, parse_positive_millis, parse_size, with_unit


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a catalog: its key, the parser of its text, its default (None: no value), and its meaning."""

    key: str
    parse: Callable[[str], Any]
    default: Any
    doc: str


def parse_word(text: str) -> str:
    """Return the text unchanged; raises ValueError for a blank text."""
    if not text.strip():
        raise ValueError("text that is not blank")
    return text


def parse_header(text: str) -> str:
    """Return the text unchanged; raises ValueError unless an HTTP header may contain it.

    An HTTP header may contain one line of ASCII without spaces at its ends.
    """
    if not text.strip() or text != text.strip() or not (text.isascii() and text.isprintable()):
        raise ValueError("one line of printable ASCII without spaces (or a line end) at its ends")
    return text


def parse_path(text: str) -> str:
    """Return the path in normal form (without ``..``); raises ValueError for a path that is not absolute."""
    if not os.path.isabs(text) or "\0" in text:
        raise ValueError("an absolute path of this machine")
    return os.path.normpath(text)


CACHE_OPTIONS = (
    Option("local-cache.enabled", parse_bool, False, "whether manifests are kept on a disk of this machine"),
    Option("local-cache.dir", parse_path, None, "the directory of the cached manifests"),
    Option("local-cache.max-size", parse_size, 1 << 30, "the most bytes in the directory"),
    Option(
        "cache.manifest.max-memory",
        parse_size,
        None,
        "the most memory for cached manifests and the live files of plans; default: an eighth of the machine's memory",
    ),
)
"""Only the caller of ``open_catalog`` can set these options.

Servers and tables cannot, because the options name local files.
"""
SQL_OPTIONS = (
    Option("catalog-key", parse_word, "jdbc", "the name of this catalog in a database that contains several"),
    Option("lock.enabled", parse_bool, None, "whether commits take the catalog's lock; default: true on object stores"),
    Option("lock.type", one_of("jdbc"), "jdbc", "the kind of lock"),
    Option(
        "lock-acquire-timeout",
        parse_positive_millis,
        480_000,
        "how long to wait for a lock, and how long a lock is valid",
    ),
    Option("lock-check-max-sleep", parse_positive_millis, 8_000, "the longest pause between two tries to take a lock"),
    Option(
        "request-timeout",
        parse_positive_millis,
        None,
        "how long PostgreSQL may take to connect, and then for a transaction (60 s); how long SQLite waits for another "
        "writer (30 s)",
    ),
)
REST_OPTIONS = (
    Option("request-timeout", parse_positive_millis, 180_000, "how long a request waits for its answer"),
    Option("token", parse_header, None, "the bearer token; never shown"),
    Option("token.provider", one_of("bear"), "bear", "the method of authorisation"),
    Option("data-token.enabled", parse_bool, False, "request the credentials of each table's files from the server"),
    Option("prefix", parse_word, None, "the first part of the paths of requests; set by the server"),
)
HEADER_PREFIX = "header."
_SECRETS = ("token", "password", "secret", "key")


def parse_catalog_options(
    given: Mapping[str, str] | None, known: Sequence[Option], kind: str, *, headers: bool = False
) -> dict[str, Any]:
    """Return the parsed value or the default of every known option; with ``headers``, include the options ``header.*``.

    Raises InvalidOption for an option that has no effect in this ``kind`` of catalog, and for an invalid value. The
    message shows the invalid value only when the option cannot contain a secret.
    """
    options = {option.key: option for option in known}
    values: dict[str, Any] = {option.key: option.default for option in known}
    if given is not None and not isinstance(given, Mapping):
        raise InvalidOption(
            f"options of the {kind} catalog must map strings to strings, not be a {type(given).__name__}"
        )
    for key, text in (given or {}).items():
        if not isinstance(key, str) or not isinstance(text, str):
            raise InvalidOption(f"catalog option {key!r}: the key and the value must be text", option=key)
        if headers and key.startswith(HEADER_PREFIX) and len(key) > len(HEADER_PREFIX):
            values[key] = _header(key, text)
            continue
        if key not in options:
            raise InvalidOption(
                f"catalog option {key!r} is not supported by the {kind} catalog; its options are "
                f"{', '.join(sorted(options)) or 'none'}",
                option=key,
            )
        try:
            values[key] = with_unit(options[key].parse)(text)
        except ValueError as error:
            shown = "" if any(word in key for word in _SECRETS) and "." not in key else f" = {text!r:.80}"
            raise InvalidOption(f"catalog option {key}{shown} must be {error}", option=key) from None
    return values


def _header(key: str, text: str) -> str:
    try:
        if not re.fullmatch(r"[!-9;-~]+", key.removeprefix(HEADER_PREFIX)):
            raise ValueError("named after a header: printable ASCII without spaces and colons")
        return parse_header(text)
    except ValueError as error:
        raise InvalidOption(f"catalog option {key!r} must be {error}", option=key) from None
