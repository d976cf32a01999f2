"""The site: it is built without a warning, a browser shows its pages without error, and its search finds answers."""

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
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from tests.documents.questions import QUESTIONS
from tests.support.axe import axe_script, axe_script_if_installed, violations
from tests.support.project import ROOT

pytestmark = pytest.mark.long
SHOWN = 3
"""A question is answered if one of so many first pages of the results answers it."""
WIDE, NARROW = 1400, 390
WAYS = ((WIDE, "light"), (NARROW, "dark"), (WIDE, "dark"), (NARROW, "light"))
"""The widths and colours in which pages are shown; each page in one of them."""
IN_EACH_WAY = ("index.html",)
REPEATED = ".md-sidebar--primary, .md-tabs, tr:nth-child(n+8), .highlight:nth-of-type(n+8)"
"""What axe does not see on other pages: the navigation, which is the same, and more rows of tables and blocks."""
_LOADED = re.compile(r"<(?:link|script|img|iframe|source)\b[^>]*?\b(?:href|src)=\"?(https?:)?//([^\s\">]+)")
_ASK = """words => {
    window.before = document.querySelector(".md-search-result__list").firstElementChild
    const field = document.querySelector(".md-search__input")
    field.focus()
    field.value = words
    for (const event of ["input", "keyup"]) field.dispatchEvent(new Event(event, {bubbles: true}))
}"""
_ANSWERED = """() => {
    const first = document.querySelector(".md-search-result__list").firstElementChild
    return first && first !== window.before
}"""


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


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The address of a server of the site."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no Chromium on the PATH")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield browser
        browser.close()


class Look:
    """Pages of a browser, and what is wrong on them."""

    def __init__(self, browser: Any, address: str) -> None:
        self.browser, self.address, self.script = browser, address, axe_script_if_installed()
        self.shown = 0
        self.wrong: list[tuple[str, object]] = []
        self.inaccessible: list[tuple[str, object]] = []

    def page(self, width: int, theme: str) -> Any:
        """Open an empty page; errors and requests of this page to other machines are noted."""
        page = self.browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
        page.set_default_timeout(120_000)  # of slow machines
        page.on("console", lambda m: self.note(page, m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.note(page, error))
        page.on("requestfailed", lambda r: None if r.failure == "net::ERR_ABORTED" else self.note(page, r.url))
        page.on(
            "request", lambda r: None if r.url.startswith((self.address, "data:", "blob:")) else self.note(page, r.url)
        )
        return page

    def note(self, page: Any, what: object) -> None:
        self.wrong.append((page.url, what))

    def show(self, page: Any, name: str, width: int, theme: str) -> None:
        """Open a page of the site and check it; the navigation too, if the page is one of those in each way."""
        page.goto(self.address + name)
        self.shown += 1
        if (real := page.evaluate("document.documentElement.scrollWidth")) != width:
            self.note(page, f"is {real} wide in {width}")
        if page.evaluate("document.body.dataset.mdColorScheme") != {"light": "default", "dark": "slate"}[theme]:
            self.note(page, f"is not {theme}")
        if not page.evaluate("[...document.images].every(one => one.complete && one.naturalWidth > 0)"):
            self.note(page, "lacks an image")
        if self.script is not None:
            if name not in IN_EACH_WAY:
                page.evaluate("names => document.querySelectorAll(names).forEach(one => one.remove())", REPEATED)
            found = violations(page, self.script)
            self.inaccessible += [(f"{name} {width} {theme}", one) for one in found]


@pytest.fixture(scope="module")
def look(site: Path, address: str, browser: Any) -> Look:
    """Each page of the site, shown once."""
    look = Look(browser, address)
    names = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    pages = [look.page(*way) for way in WAYS]
    words = json.loads((site / "search" / "search_index.json").read_text())
    for page in pages:  # each page would index all words of the site for its search
        page.route("**/search_index.json", lambda route: route.fulfill(json={**words, "docs": words["docs"][:1]}))
    for name, at in zip(names, cycle(range(len(WAYS))), strict=False):
        for way in range(len(WAYS)) if name in IN_EACH_WAY else (at,):
            look.show(pages[way], name, *WAYS[way])
    for page in pages:
        page.close()
    return look


@pytest.mark.browser
def test_every_page_in_a_browser_has_no_error_and_fits(look: Look) -> None:
    assert look.shown > 140
    assert look.wrong == []


@pytest.mark.browser
def test_every_page_is_accessible(look: Look) -> None:
    axe_script()
    assert look.inaccessible == []


@pytest.mark.browser
def test_the_keyboard_reaches_wide_tables(address: str, browser: Any) -> None:
    page = Look(browser, address).page(NARROW, "light")
    page.goto(f"{address}options.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.md-skip')")
    page.keyboard.press("Enter")
    for _ in range(60):  # the Tab key leads to a wide table, and the arrow keys scroll it
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.md-typeset__scrollwrap')"):
            break
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.activeElement.scrollLeft > 0")
    page.close()


@pytest.mark.browser
def test_the_search_answers_questions(site: Path, address: str, browser: Any) -> None:
    """The search field of the site, with the index of the site, as a reader uses it."""
    assert len(QUESTIONS) >= 30
    missing = {page for question in QUESTIONS for page in question.pages if not (site / f"{page}.html").is_file()}
    assert missing == set()
    look = Look(browser, address)
    page = look.page(WIDE, "light")
    page.goto(f"{address}index.html?q=table")
    results = page.locator(".md-search-result__item > a.md-search-result__link")
    results.first.wait_for(state="attached")
    wrong = {}
    for question in QUESTIONS:
        page.evaluate(_ASK, question.words)
        page.wait_for_function(_ANSWERED)
        links = results.evaluate_all("all => all.map(one => one.href)")
        found = list(dict.fromkeys(link.removeprefix(address).partition(".html")[0] for link in links))[:SHOWN]
        if not set(found) & set(question.pages):
            wrong[question.words] = found
    page.close()
    assert wrong == {}
    assert look.wrong == []
