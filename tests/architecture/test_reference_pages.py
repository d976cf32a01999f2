"""The generated pages of docs/ are what `make reference` writes."""

import runpy
from pathlib import Path

import pytest

PAGES = runpy.run_path(str(Path(__file__).resolve().parents[2] / "scripts" / "reference_pages.py"))["pages"]()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_page_is_up_to_date(path):
    assert path.read_text() == PAGES[path], "run `make reference`"
