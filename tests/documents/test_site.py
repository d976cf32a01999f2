"""The site: it is built without a warning, asks no other machine for anything, and its search answers questions."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.documents.questions import QUESTIONS
from tests.documents.search import Search
from tests.support.axe import axe_script, violations
from tests.support.project import ROOT

pytestmark = pytest.mark.long
SHOWN = 3
"""A question is answered if one of so many first results answers it."""
WIDE, NARROW = 1300, 380
LOOKED_AT = ("index", "tutorials/first-table", "explanation/pictures", "options", "site/api/tables")
CHECKED = ("index", "comparison", "site/api/commits")
_LOADED = re.compile(r"<(?:link|script|img|iframe|source)\b[^>]*?\b(?:href|src)=\"?(https?:)?//([^\s\">]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    if importlib.util.find_spec("mkdocs") is None or importlib.util.find_spec("material") is None:
        pytest.skip("MkDocs is not installed: `make setup` installs the group docs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_no_page_loads_something_from_another_machine(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 120
    outside = {path.name: _LOADED.findall(path.read_text()) for path in pages}
    assert {name: found for name, found in outside.items() if found} == {}


def test_the_search_answers_questions(site: Path) -> None:
    search = Search(json.loads((site / "search" / "search_index.json").read_text()))
    assert len(QUESTIONS) >= 30
    missing = {page for question in QUESTIONS for page in question.pages if not (site / f"{page}.html").is_file()}
    assert missing == set()
    found = {question.words: search.pages(question.words)[:SHOWN] for question in QUESTIONS}
    wrong = {q.words: found[q.words] for q in QUESTIONS if not set(found[q.words]) & set(q.pages)}
    assert wrong == {}


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """The address of a server of the site."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.browser
def test_pages_in_a_browser_have_no_error_and_fit(address: str) -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no Chromium on the PATH")
    api = pytest.importorskip("playwright.sync_api")
    errors: list[str] = []
    outside: list[str] = []

    def watch(page: Any) -> Any:
        page.set_default_timeout(120_000)  # of slow machines
        page.on("console", lambda m: errors.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("requestfailed", lambda r: None if r.failure == "net::ERR_ABORTED" else errors.append(r.url))
        page.on("request", lambda r: None if r.url.startswith((address, "data:", "blob:")) else outside.append(r.url))
        return page

    with api.sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        for width, theme, scheme in ((WIDE, "light", "default"), (NARROW, "dark", "slate")):
            page = watch(browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme))
            for name in LOOKED_AT:
                page.goto(f"{address}/{name}.html")
                assert page.evaluate("document.documentElement.scrollWidth") == width, name
                assert page.evaluate("document.body.dataset.mdColorScheme") == scheme
                assert page.evaluate("[...document.images].every(one => one.complete && one.naturalWidth > 0)"), name
            page.close()
        page = watch(browser.new_page())
        page.goto(f"{address}/index.html?q={quote('time travel after vacuum')}")
        results = page.locator(".md-search-result__item > a.md-search-result__link")
        results.first.wait_for(state="attached")
        assert "how-to/read-older-versions.html" in (results.first.get_attribute("href") or "")
        browser.close()
    assert errors == []
    assert outside == []


@pytest.mark.browser
def test_pages_are_accessible(address: str) -> None:
    script = axe_script()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no Chromium on the PATH")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        for width, theme in ((WIDE, "light"), (NARROW, "dark")):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
            page.set_default_timeout(120_000)
            for name in CHECKED:
                page.goto(f"{address}/{name}.html")
                assert violations(page, script) == [], (name, width, theme)
            page.close()
        page = browser.new_page(viewport={"width": NARROW, "height": 900})
        page.goto(f"{address}/options.html")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.matches('.md-skip')")
        page.keyboard.press("Enter")
        for _ in range(60):  # the Tab key leads to a wide table, and the arrow keys scroll it
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.matches('.md-typeset__scrollwrap')"):
                break
        page.keyboard.press("ArrowRight")
        page.wait_for_function("document.activeElement.scrollLeft > 0")
        browser.close()
