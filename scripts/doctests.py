"""Examples of docstrings as blocks of code on the site: mkdocstrings loads this extension (mkdocs.yml)."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_EXAMPLE = re.compile(r"^[ ]*>>> .*(?:\n[ ]*(?:>>>|\.\.\.).*)*$", re.MULTILINE)
_SKIPPED = re.compile(r"[ ]*# doctest: \+\w+$", re.MULTILINE)
_PROMPT = re.compile(r"^[ ]*(?:>>>|\.\.\.) ?", re.MULTILINE)


class Doctests(Extension):
    """Shows the lines of a docstring with prompts as Python, without prompts and marks for doctest."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of one object."""
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            obj.docstring.value = _EXAMPLE.sub(as_block, obj.docstring.value)


def as_block(found: re.Match[str]) -> str:
    """Return an example as a block of code."""
    code = _PROMPT.sub("", _SKIPPED.sub("", found[0])).rstrip()
    return f"\n```python\n{code}\n```\n"
