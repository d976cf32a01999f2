"""Secret: a credential that does not show.

Its text is seen by ``reveal`` only: not in a repr, a message, a log line, an f-string or JSON. It does travel in a
pickle, as a worker needs it; pickles of this library go from process to process and never into a file. Whoever does
not want even that gives no credentials and lets each machine find its own (environment, profile, instance role).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

HIDDEN = "***"
_QUERY = re.compile(r"\?[^\s'\"<>)\]]{8,}")


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A text that shows as ``***``; equal texts are equal secrets."""

    _text: str = field(repr=False)

    def reveal(self) -> str:
        """The text itself, for the client library that signs with it."""
        return self._text

    def __repr__(self) -> str:
        return HIDDEN

    def __str__(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return HIDDEN


def scrubbed(text: str, secrets: Iterable[Secret]) -> str:
    """``text`` without the secrets and without the queries of URLs, which may carry signatures."""
    for secret in secrets:
        if secret.reveal():
            text = text.replace(secret.reveal(), HIDDEN)
    return _QUERY.sub(f"?{HIDDEN}", text)
