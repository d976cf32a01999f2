"""The pages of docs/ in folders run as they are pasted, and show what is printed; links lead somewhere."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

import paimon_core
import paimon_core.spark
from tests.support import pages
from tests.support.pages import DOCS, blocks_of, check_page, is_as_shown
from tests.support.project import ROOT, SOURCES

WITH_SPARK = ("first-lake", "first-incremental-pipeline")
RUNNING = [path for path in pages.pages_that_run() if path.stem not in WITH_SPARK]
ALL = sorted(DOCS.rglob("*.md"))
SITE: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "site_pages.py"))
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)


@pytest.fixture(autouse=True)
def _reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("PAIMON_WAREHOUSE", "PAIMON_LAKE_CONFIGS", "PAIMON_ENV", "PAIMON_LAKE", "AWS_REGION"):
        monkeypatch.setenv(name, "")  # so that a page that exports it does not change it for other tests
        monkeypatch.delenv(name)


@pytest.mark.parametrize("path", RUNNING, ids=lambda path: path.stem)
def test_a_page_prints_what_it_shows(path: Path) -> None:
    check_page(path)


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.programs
def test_pages_of_lakes_print_what_they_show() -> None:
    """In one process of their own, because a lake sets the memory of Spark's driver."""
    found = [str(DOCS / "tutorials" / f"{name}.md") for name in WITH_SPARK]
    command = [sys.executable, "-W", "error", "-m", "tests.support.pages", *found]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, SOURCES))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.split() == found


def test_a_block_that_is_not_run_says_why() -> None:
    for path in pages.pages_that_run():
        for block in blocks_of(path.read_text()):
            place = f"{path.name}, line {block.line}"
            assert block.language in {"python", "bash", "yaml", "csv"}, f"{place} has a block of {block.language!r}"
            assert block.language in pages.RUNNERS or block.title, f"{place}: a file needs a title"
            assert block.reason is None or len(block.reason) > 10, f"{place} gives no reason"


def test_a_wrong_output_is_found() -> None:
    assert is_as_shown("a 1\n2026-01-01 10:00:00 b 12 bytes  \n", "a 1\n2025-02-03 11:12:13 b 9 bytes")
    assert is_as_shown("one\ntwo\nthree", "one\n...three")
    assert not is_as_shown("a 1", "a 2")
    assert not is_as_shown("a 1\nb", "a 1")
    assert not is_as_shown("", "a")


def test_blocks_of_a_page_are_found() -> None:
    text = '```yaml title="a/b.yaml"\nx: 1\n```\n\n*Not run by the tests: it waits.*\n\n'
    text += "```bash\nls\n```\n\n```text\nb\n```\n"
    file, command = blocks_of(text)
    assert (file.title, file.code, file.reason) == ("a/b.yaml", "x: 1\n", None)
    assert (command.language, command.reason, command.shown) == ("bash", "it waits.", "b\n")


@cache
def anchors(path: Path) -> frozenset[str]:
    """The anchors of a page's headings, as the site makes them."""
    found: dict[str, int] = {}
    for heading in _HEADING.findall(re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", words).strip().lower())
        found[slug] = found.get(slug, -1) + 1
    return frozenset(f"{slug}_{n}" if n else slug for slug, most in found.items() for n in range(most + 1))


@pytest.mark.parametrize("folder", sorted({path.parent for path in ALL}), ids=lambda path: path.name)
def test_links_lead_somewhere(folder: Path) -> None:
    for path in folder.glob("*.md"):
        for link in _LINK.findall(_CODE.sub("", path.read_text())):
            if "://" in link:
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            assert target.exists(), f"{path.name} links to {link}"
            if anchor and target.suffix == ".md":
                assert anchor in anchors(target), f"{path.name} links to {link}, which is no heading of the page"


def named(nav: object) -> list[str]:
    match nav:
        case dict():
            return [page for part in nav.values() for page in named(part)]
        case list():
            return [page for part in nav for page in named(part)]
    return [str(nav)]


def test_the_navigation_names_every_page_once() -> None:
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    names = named(SITE["expanded"](config["nav"]))
    there = [path.relative_to(DOCS).as_posix() for path in ALL]
    assert sorted(names) == sorted([*there, *SITE["generated_pages"]()])


def test_every_public_name_has_a_place_in_the_reference() -> None:
    shown = "\n".join(SITE["interface_pages"]().values()).splitlines()
    places = {line.removeprefix("::: ") for line in shown if line.startswith("::: ")}
    for module in (paimon_core, paimon_core.spark):
        missing = {name for name in module.__all__ if SITE["place_of"](f"{module.__name__}:{name}") not in places}
        assert missing == set(), f"add them to BY_PAGE in scripts/site_pages.py: {missing}"


def test_every_command_has_a_section_with_its_arguments() -> None:
    commands = SITE["command_pages"]()
    core, lake = commands["site/commands/paimon-core.md"], commands["site/commands/paimon-lake.md"]
    assert "## expire snapshots" in core
    assert "| `--keep-last N` | Always keep at least N. |  |" in core
    assert "## load" in lake
    assert "`--reload`" in lake


def test_messages_of_the_page_are_messages_of_the_code() -> None:
    texts = texts_of_the_code()
    rows = re.findall(r"^\| (`.*?) \|", (DOCS / "reference" / "messages.md").read_text(), re.MULTILINE)
    assert len(rows) > 15
    parts = [p.strip() for row in rows for message in re.findall(r"`([^`]+)`", row) for p in message.split("…")]
    assert [part for part in parts if part not in texts] == []


def texts_of_the_code() -> str:
    """The code of the core and of the lake, with texts of several lines joined."""
    folders = (ROOT / "paimon_core", ROOT / "pipelines" / "paimon_lake")
    code = "\n".join(path.read_text() for folder in folders for path in sorted(folder.rglob("*.py")))
    return re.sub(r'"\s*\n\s*f?"', "", code)
