"""The single-token mutants of a module."""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OPERATORS = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "+": ("-",),
    "-": ("+",),
    "*": ("+",),
    "//": ("*",),
    "%": ("*",),
    "&": ("|",),
    "|": ("&",),
    "<<": (">>",),
    ">>": ("<<",),
}
WORDS = {
    "and": ("or",),
    "or": ("and",),
    "True": ("False",),
    "False": ("True",),
    "min": ("max",),
    "max": ("min",),
    "any": ("all",),
    "all": ("any",),
    "continue": ("break",),
    "break": ("continue",),
    "not": ("",),
}


@dataclass(frozen=True)
class Mutant:
    """A module with one token changed."""

    path: Path
    line: int
    before: str
    after: str
    text: str
    source: str
    """The line before the change, without its indentation."""
    copy: int
    """How many lines above are changed from and to the same."""

    @property
    def changed(self) -> str:
        """The line after the change, without its indentation."""
        return self.text.split("\n")[self.line - 1].strip()

    def rank(self, seed: int) -> bytes:
        """A place in a random order, the same whatever changes elsewhere in the sources."""
        words = (str(seed), self.path.as_posix(), self.source, self.changed, str(self.copy))
        return hashlib.sha256("\n".join(words).encode()).digest()

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.before!r} -> {self.after!r}: {self.changed}"


def mutants_of(path: Path, text: str) -> Iterator[Mutant]:
    """All mutants that still parse; annotations, docstrings, imports and error texts are left as they are."""
    skipped = _skipped_lines(text)
    lines = text.split("\n")
    copies: Counter[tuple[str, str]] = Counter()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        (row, start), (_, end) = token.start, token.end
        if row in skipped:
            continue
        for after in _replacements(token, lines[row - 1], start):
            changed = lines[row - 1][:start] + after + lines[row - 1][end:]
            mutated = "\n".join((*lines[: row - 1], changed, *lines[row:]))
            try:
                ast.parse(mutated)
            except SyntaxError:
                continue
            source = lines[row - 1].strip()
            yield Mutant(path, row, token.string, after, mutated, source, copies[source, changed.strip()])
            copies[source, changed.strip()] += 1


def _replacements(token: tokenize.TokenInfo, line: str, start: int) -> tuple[str, ...]:
    if token.type == tokenize.OP:
        before, after = line[:start].rstrip(), line[start + len(token.string) :].lstrip()
        if token.string in "*-+" and (not before or before[-1] in "(,[=:" or before.endswith(("return", "in"))):
            return ()  # a sign or unpacking
        if token.string == "*" and after.startswith((",", ")")):
            return ()  # keyword-only marker
        return OPERATORS.get(token.string, ())
    if token.type == tokenize.NAME:
        if token.string == "not" and line[:start].rstrip().endswith("is"):
            return ()
        return WORDS.get(token.string, ())
    if token.type == tokenize.NUMBER and token.string.isdigit():
        return (str(int(token.string) + 1),)
    return ()


def _skipped_lines(text: str) -> set[int]:
    """Lines whose change no test can see, or that only say something: annotations, imports, raise, docstrings."""
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        found: list[ast.AST] = []
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Raise | ast.Assert):
            found.append(node)
        elif isinstance(node, ast.FunctionDef):
            found += [a.annotation for a in ast.walk(node.args) if isinstance(a, ast.arg) and a.annotation is not None]
            found += [node.returns] if node.returns is not None else []
            found += node.decorator_list
        elif isinstance(node, ast.AnnAssign):
            found.append(node.annotation)
        elif isinstance(node, ast.ClassDef):
            found += node.decorator_list
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found.append(node)
        for part in found:
            skipped |= set(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    return skipped
