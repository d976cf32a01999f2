"""docs/declarations.md: its example is a lake, and it describes every key."""

import re

from paimon_lake.declarations.json_schema import table_schema
from tests.support.project import ROOT

PAGE = (ROOT / "docs" / "declarations.md").read_text()


def test_every_link_of_the_page_leads_to_a_heading() -> None:
    headings = {
        re.sub(r"[^a-z_ ]", "", one.lower()).replace(" ", "-") for one in re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)
    }
    links = set(re.findall(r"\]\(#(.*?)\)", PAGE))
    assert len(links) > 15
    assert links <= headings


def test_every_key_is_on_the_page() -> None:
    schema = table_schema()
    keys = {name for part in (schema, *schema["$defs"].values()) for name in part["properties"]}
    assert {key for key in keys if f"| `{key}` |" not in PAGE} == set()
