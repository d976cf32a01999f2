"""Pages of docs/: their code blocks, run as a reader runs them, with the output that the page shows.

In a page, the blocks run in their order, in one empty directory. A block ``text`` shows the output of the block before
it; ``...`` in it stands for any characters. A block with a title is a file, which is written under this name. A block
does not run only if the line before it says why: ``*Not run by the tests: ...*``.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.support.project import ROOT

DOCS = ROOT / "docs"
FOLDERS = ("tutorials", "how-to", "migration", "operations", "reference", "explanation")
"""The folders whose pages run here; the pages beside them have tests of their own."""
PROGRAMS = {"paimon-core": "paimon_core.cli.main", "paimon-lake": "paimon_lake.cli.main"}

VOLATILE = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(\+00:00| UTC|Z)?(  +)?"), "TIME"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\b[\d,.]+ (bytes|[kKMG]i?B)"), "SIZE"),
    (re.compile(r"(input_bytes=)\d+"), r"\1SIZE"),
    (re.compile(r"\b[\d.]+ (processor seconds|s\b)"), r"SECONDS \1"),
    (re.compile(r"\bscore \d\d?\b"), "score N"),
    (re.compile(r"(storage|scan costs) [\d.]+ times"), r"\1 N times"),
)
"""What differs between runs: times, random ids, the directory, sizes of files, durations and estimates."""
_BLOCK = re.compile(r"^```(\w*)(?:[ \t]+title=\"([^\"]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_REASON = re.compile(r"^\*Not run by the tests: (.+)\*\n\n\Z", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"\s+#.*?exit code (\d+)\b")


@dataclass(frozen=True)
class Block:
    """One block of code of a page; ``shown``: the output that the page shows after it."""

    language: str
    code: str
    line: int
    title: str | None = None
    reason: str | None = None
    shown: str | None = None


def pages_that_run() -> list[Path]:
    """The pages of this folder structure that have blocks of Python or commands."""
    found = [DOCS / "index.md", DOCS / "comparison.md", *(p for f in FOLDERS for p in sorted((DOCS / f).glob("*.md")))]
    return [
        path for path in found if any(block.language in ("python", "bash") for block in blocks_of(path.read_text()))
    ]


def blocks_of(text: str) -> list[Block]:
    """The blocks of a page; a block ``text`` without a title belongs to the block before it."""
    blocks: list[Block] = []
    end = 0
    for found in _BLOCK.finditer(text):
        between, end = text[end : found.start()], found.end()
        if found[1] == "text" and not found[2] and blocks and not between.strip():
            blocks[-1] = replace(blocks[-1], shown=found[3])
            continue
        reason = _REASON.search(between)
        line = text.count("\n", 0, found.start()) + 1
        blocks.append(Block(found[1], found[3], line, found[2], reason[1] if reason else None))
    return blocks


def run_page(path: Path, names: dict[str, Any] | None = None) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page in the working directory; yield each block that ran, with its output.

    In the output, the working directory is ``/srv/ada``.
    """
    names = {"__name__": "__main__", **(names or {})}
    for block in blocks_of(path.read_text()):
        if block.title:
            file = Path(block.title)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.code)
        elif block.reason is None and block.language in RUNNERS:
            yield block, RUNNERS[block.language](block, names).replace(str(Path.cwd()), "/srv/ada")


def names_of_start(path: Path) -> dict[str, Any]:
    """Make the table of the start page of how-to, when a page says that it uses it; return its names."""
    names: dict[str, Any] = {}
    if "[the start page](index.md)" in path.read_text():
        _python(blocks_of((path.parent / "index.md").read_text())[0], names)
    return names


def check_page(path: Path) -> None:
    """Run the blocks of a page in the working directory; raise AssertionError when an output is not as shown."""
    ran = 0
    for block, output in run_page(path, names_of_start(path)):
        ran += 1
        assert is_as_shown(output, block.shown or ""), (
            f"{path.name}, line {block.line} shows\n{block.shown}\nand prints\n{output}"
        )
    assert ran, f"{path.name} has no block that runs"


def is_as_shown(output: str, shown: str) -> bool:
    """Whether an output is what a page shows; the values of ``VOLATILE`` and spaces at ends of lines do not count."""
    pattern = re.escape(_stable(shown)).replace(re.escape("..."), ".*?")
    return re.fullmatch(pattern, _stable(output), re.DOTALL) is not None


def _stable(text: str) -> str:
    """Return the text without the values that differ between runs, and without spaces at ends of lines."""
    for pattern, name in VOLATILE:
        text = pattern.sub(name, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _python(block: Block, names: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block.code, f"line {block.line} of the page", "exec", dont_inherit=True), names)  # noqa: S102
    return out.getvalue()


def _commands(block: Block, names: dict[str, Any]) -> str:
    out = io.StringIO()
    for line in block.code.replace("\\\n", " ").splitlines():
        expected = _CODE.search(line)
        words = shlex.split(line, comments=True)
        if not words:
            continue
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = _command(words, line)
        assert code == int(expected[1] if expected else 0), f"{line}: exit code {code}\n{out.getvalue()}"
    return out.getvalue()


def _command(words: list[str], line: str) -> int:
    if words[0] == "export":
        name, _, value = words[1].partition("=")
        os.environ[name] = value
        return 0
    if words[0] not in PROGRAMS:
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
        print(done.stdout + done.stderr, end="")
        return done.returncode
    __import__(PROGRAMS[words[0]])
    try:
        code: int = sys.modules[PROGRAMS[words[0]]].main(words[1:])
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code


RUNNERS: dict[str, Callable[[Block, dict[str, Any]], str]] = {"python": _python, "bash": _commands}


def main(paths: list[str]) -> None:
    """Check pages, each in an empty directory, and print the path of each page that is right."""
    os.environ["COLUMNS"] = "120"
    for path in [Path(one).resolve() for one in paths]:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            check_page(path)
        print(path, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
