"""Slot keys: errors about options of a slot name the key under which the option is declared.

A table with a slot of its own has these keys below ``source``; tables that share a slot have them in ``base.yaml``.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from paimon_lake.declarations.sources.source import OF_SLOT
from paimon_lake.protocol import PipelineError

_KEYS = re.compile(rf"\bsource\.({'|'.join(sorted(OF_SLOT))})\b")


def named_keys(text: str, database: str) -> str:
    """Return an error text with the keys of ``base.yaml`` for a table of a database; unchanged for the name ""."""
    return _KEYS.sub(rf"postgres.{database}.\1", text) if database else text


@contextlib.contextmanager
def naming_keys(database: str) -> Iterator[None]:
    """Change the text of a PipelineError as ``named_keys`` does."""
    try:
        yield
    except PipelineError as error:
        text = named_keys(str(error), database)
        if text == str(error):
            raise
    else:
        return
    raise PipelineError(text)
