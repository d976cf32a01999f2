"""Secret: a credential that is not shown.

Only ``reveal`` returns the text; a repr, a message, a log line or an f-string shows ``***``. A pickle contains the
text, because workers need it; this library sends pickles between processes and never writes pickles to files. To keep
credentials out of pickles, pass no credentials: each machine then finds credentials in its environment, its profile or
its instance role.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

HIDDEN = "***"
_QUERY = re.compile(r"\?[^\s'\"<>)\]]{8,}")


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A text that is shown as ``***``; secrets with equal texts are equal."""

    _text: str = field(repr=False)

    def reveal(self) -> str:
        """Return the text, for the client library that signs requests with it."""
        return self._text

    def __repr__(self) -> str:
        return HIDDEN

    def __str__(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return HIDDEN


def scrubbed(text: str, secrets: Iterable[Secret]) -> str:
    """Return ``text`` without the secrets and without the queries of URLs, which may contain signatures."""
    for secret in secrets:
        if secret.reveal():
            text = text.replace(secret.reveal(), HIDDEN)
    return _QUERY.sub(f"?{HIDDEN}", text)
