"""Shown options: options of catalogs and tables as people may see them, without secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping

from paimon_core.errors import names_a_secret
from paimon_core.storage.secret import HIDDEN, scrubbed

_PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")


def shown_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options with ``***`` for passwords, keys and tokens, headers, and the user and query of a URI."""
    return {
        key: HIDDEN
        if names_a_secret(key) or key.startswith("header.") or key.endswith("key-id")
        else scrubbed(_PASSWORD.sub(f"{HIDDEN}@", text), ())
        for key, text in sorted(options.items())
    }
