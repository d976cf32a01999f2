"""The page of a lake in a real browser: wide and narrow, light and dark."""

from __future__ import annotations

import shutil

import pytest

import paimon_core as paimon
from paimon_core.health.page.page import LakePage
from paimon_core.health.page.style import DARK, LIGHT
from tests.support.axe import axe_script, violations
from tests.support.health_pages import history, rows


@pytest.fixture
def file(warehouse, tmp_path):
    """The page of a lake with two tables and one that cannot be read."""
    catalog = paimon.open_catalog(warehouse)
    catalog.create_database("db")
    name = "db.a_long_name_" + "of_a_table_" * 8
    append = catalog.create_table(name, rows([]).schema)
    append.write(rows(range(100)))
    lake = LakePage("Health of all tables")
    for table in (history(catalog), append):
        lake.add(table.context, table.latest_snapshot())
    lake.fail("db.bad", "corrupt-table: " + "x" * 300)
    path = tmp_path / "page.html"
    path.write_text(lake.text())
    return path


@pytest.mark.long
@pytest.mark.browser
def test_the_page_is_accessible(file):
    script = axe_script()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no Chromium on the PATH")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for width, theme in ((1200, "light"), (360, "dark")):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
            page.set_default_timeout(240_000)
            page.goto(file.as_uri())
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            assert violations(page, script) == [], (width, theme)
            page.close()
        browser.close()


@pytest.mark.browser
def test_the_page_fits_each_screen_and_has_no_error(file):
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no Chromium on the PATH")
    api = pytest.importorskip("playwright.sync_api")
    errors: list[str] = []
    outside: list[str] = []
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        for width, theme, colours in (
            (1200, "light", LIGHT),
            (360, "light", LIGHT),
            (1200, "dark", DARK),
            (360, "dark", DARK),
        ):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
            page.set_default_timeout(240_000)  # of slow machines
            page.on("console", lambda m: errors.append(m.text) if m.type in ("error", "warning") else None)
            page.on("pageerror", lambda e: errors.append(str(e)))
            page.on("dialog", lambda d: (errors.append(d.message), d.dismiss()))
            page.on(
                "request",
                lambda r: None if r.url == file.as_uri() or r.url.startswith("data:") else outside.append(r.url),
            )
            page.goto(file.as_uri())
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            assert page.evaluate("document.documentElement.scrollWidth") == width
            back = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert back == "rgb({}, {}, {})".format(*bytes.fromhex(colours["back"][1:]))
            assert page.locator("svg[role=img]").count() == 10
            page.locator("a[href='#table-2']").click()
            assert page.evaluate("Math.abs(document.querySelector('#table-2').getBoundingClientRect().top)") < 900
            page.close()
        browser.close()
    assert errors == []
    assert outside == []
