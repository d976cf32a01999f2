"""Tables for tests of pages, and a reader of pages."""

from __future__ import annotations

import os
from html.parser import HTMLParser
from xml.etree import ElementTree

import pyarrow as pa

SCHEMA = pa.schema([("day", pa.string()), ("id", pa.int64()), ("text", pa.string())])
EVIL = "<script>alert(1)</script>&\"'"
EVIL_TAG = "<script>alert(2)"
VOID = {"meta", "link", "br"}


def rows(ids, days=("2024-01-01",)):
    ids = list(ids)
    texts = [os.urandom(8).hex() for _ in ids]
    return pa.table({"day": [days[n % len(days)] for n in range(len(ids))], "id": ids, "text": texts}, schema=SCHEMA)


def keyed(catalog, name="db.t", **options):
    options = {"bucket": "4", "write-only": "true"} | {key.replace("_", "-"): v for key, v in options.items()}
    return catalog.create_table(name, SCHEMA, primary_key=["day", "id"], partition_by=["day"], options=options)


def history(catalog, name="db.t"):
    """A table with 3 partitions, 4 buckets, 12 sorted runs in several levels, 2 tags and a branch."""
    days = ("2024-01-01", "2024-01-02", EVIL)
    table = keyed(catalog, name)
    table.write(rows(range(40_000), days))
    table.compact(full=True)
    table.tags.create("first")
    table.branches.create("trial", tag="first")
    table.branch("trial").write(rows(range(5000, 5100), days))
    for size in (2000, 8):  # a compaction merges the newer runs into a level of their own when they are smaller
        for n in range(6):
            table.write(rows(range(n * 50, n * 50 + size), days[:1]))
        table.compact()
        table = table.refresh()
    table.tags.create(EVIL_TAG)
    while runs(table) < 12:
        start = 40 * table.latest_snapshot().id % 900
        table.write(rows(range(start, start + 200 + start % 7 * 500), days[:1]))
    return table.refresh()


def runs(table):
    return max(table.refresh().inspect.buckets()["sorted_runs"].to_pylist())


class Page(HTMLParser):
    """The elements of a page: each tag is closed in order, and texts and tables are kept."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.source = text
        self.open, self.tags, self.attributes, self.texts = [], [], [], []
        self.tables, self.ids, self.links = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.attributes.append((tag, found))
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if tag == "a" else []
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data

    @property
    def text(self):
        return "".join(self.texts)

    def table(self, *first):
        """Return the rows below the table whose titles begin so, numbers as whole numbers."""
        (found,) = (t for t in self.tables if t[0][: len(first)] == list(first))
        return [[int(c.replace(",", "")) if c.replace(",", "").isdecimal() else c for c in row] for row in found[1:]]

    def pictures(self):
        """Return the pictures by their labels, read as XML."""
        parts = [part.split("</svg>")[0] for part in self.source.split("<svg ")[1:]]
        found = [ElementTree.fromstring(f"<svg {part}</svg>") for part in parts]
        return {picture.get("aria-label"): picture for picture in found}
