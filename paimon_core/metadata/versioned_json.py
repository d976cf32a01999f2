"""Versioned JSON bytes: how commit messages, splits and compaction tasks travel between processes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from paimon_core.errors import InvalidRequest, UnsupportedFeature


def pack(version: int, members: Mapping[str, Any]) -> bytes:
    """``members`` (JSON values) with their version."""
    return json.dumps({"version": version, **members}, separators=(",", ":")).encode()


@contextlib.contextmanager
def unpacked(data: bytes, what: str, version: int) -> Iterator[dict[str, Any]]:
    """The members of ``pack``, for the body to read; ``what`` names the thing in errors.

    Raises UnsupportedFeature for another version, InvalidRequest for bytes that are none, also when the body stumbles
    over a missing or mistyped member.
    """
    try:
        value = json.loads(data)
        found = value.pop("version")
        if found != version:
            raise UnsupportedFeature(f"{what} version {found} is not {version}", version=found)
        yield value
    except (InvalidRequest, UnsupportedFeature):
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise InvalidRequest(f"not a {what}: {error!r}") from error
