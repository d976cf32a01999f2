"""Versioned JSON bytes: the form in which commit messages, splits and compaction tasks are sent between processes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from paimon_core.errors import InvalidRequest, UnsupportedFeature


def pack(version: int, members: Mapping[str, Any]) -> bytes:
    """Return ``members`` (JSON values) with their version as JSON bytes."""
    return json.dumps({"version": version, **members}, separators=(",", ":")).encode()


@contextlib.contextmanager
def unpacked(data: bytes, what: str, version: int) -> Iterator[dict[str, Any]]:
    """Yield the members that ``pack`` encoded, as a context manager; ``what`` names the object in errors.

    Raises UnsupportedFeature for another version, InvalidRequest for other bytes. It also raises InvalidRequest when
    the block fails because a member is missing or has a wrong type.
    """
    try:
        value = json.loads(data)
        found = value.pop("version")
        if found != version:
            raise UnsupportedFeature(f"{what} version {found} is not {version}", version=found)
        yield value
    except (InvalidRequest, UnsupportedFeature):
        raise
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"not a {what}: it is no JSON: {error}") from error
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise InvalidRequest(f"not a {what}: {error!r}") from error
