"""The options of catalogs, under Paimon's names; a catalog takes the ones it obeys and refuses all others by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from paimon_core.errors import InvalidOption
from paimon_core.options.parsers import one_of, parse_bool, parse_positive_millis, with_unit
from paimon_core.options.supported_options import Option


def parse_word(text: str) -> str:
    """Any text that is not blank."""
    if not text.strip():
        raise ValueError("text that is not blank")
    return text


def parse_header(text: str) -> str:
    """What fits into a header of a request: one line of ASCII, with no space at its ends."""
    if not text.strip() or text != text.strip() or not (text.isascii() and text.isprintable()):
        raise ValueError("one line of printable ASCII without spaces (or a line end) at its ends")
    return text


SQL_OPTIONS = (
    Option("catalog-key", parse_word, "jdbc", "the name of this catalog in a database that keeps several"),
    Option("lock.enabled", parse_bool, None, "commits take the catalog's lock; default: on object stores"),
    Option("lock.type", one_of("jdbc"), "jdbc", "the kind of lock"),
    Option(
        "lock-acquire-timeout", parse_positive_millis, 480_000, "how long to wait for a lock, and how long one lasts"
    ),
    Option("lock-check-max-sleep", parse_positive_millis, 8_000, "the longest pause between two looks at a lock"),
    Option(
        "request-timeout",
        parse_positive_millis,
        None,
        "how long PostgreSQL may take to connect, and then for a transaction (60 s); how long SQLite waits for another "
        "writer (30 s)",
    ),
)
REST_OPTIONS = (
    Option("request-timeout", parse_positive_millis, 180_000, "how long one request waits for its answer"),
    Option("token", parse_header, None, "the bearer token; never shown"),
    Option("token.provider", one_of("bear"), "bear", "how requests are authorised"),
    Option("data-token.enabled", parse_bool, False, "ask the server for the credentials of each table's files"),
    Option("prefix", parse_word, None, "the first part of the server's paths; the server gives it"),
)
HEADER_PREFIX = "header."
_SECRETS = ("token", "password", "secret", "key")


def parse_catalog_options(
    given: Mapping[str, str] | None, known: Sequence[Option], kind: str, *, headers: bool = False
) -> dict[str, Any]:
    """The value of every known option, parsed or by default; with ``headers``, texts under ``header.*`` too.

    Raises InvalidOption for an option that this ``kind`` of catalog does not obey, or a value outside its rule; a
    value is shown only of options that hold no secret.
    """
    options = {option.key: option for option in known}
    values: dict[str, Any] = {option.key: option.default for option in known}
    if given is not None and not isinstance(given, Mapping):
        raise InvalidOption(f"options of the {kind} catalog must map texts to texts, not a {type(given).__name__}")
    for key, text in (given or {}).items():
        if not isinstance(key, str) or not isinstance(text, str):
            raise InvalidOption(f"catalog option {key!r} must be text on both sides", option=key)
        if headers and key.startswith(HEADER_PREFIX) and len(key) > len(HEADER_PREFIX):
            values[key] = _header(key, text)
            continue
        if key not in options:
            raise InvalidOption(
                f"catalog option {key!r} is not supported by the {kind} catalog, which has "
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
            raise ValueError("called after a header: printable ASCII without spaces and colons")
        return parse_header(text)
    except ValueError as error:
        raise InvalidOption(f"catalog option {key!r} must be {error}", option=key) from None
