"""Texts, scales and drawings of pages."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from paimon_core.health.page.svg import Drawing, Scale, sampled, ticks
from paimon_core.health.page.texts import counted, escaped, moment, number, short, size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<a href="x">\'&', "&lt;a href=&quot;x&quot;&gt;&#x27;&amp;"),
        ("t\u00e4g \u65e5", "t&#228;g &#26085;"),
        ("a\u202eb", "a\\u202eb"),
        ("a\x00\x1b\udc80", "a\\u0000\\u001b\\udc80"),
    ],
)
def test_escaped(text, expected):
    assert escaped(text) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.00 kB"),
        (9_994, "9.99 kB"),
        (99_949, "99.9 kB"),
        (999_499, "999 kB"),
        (999_500, "1.00 MB"),
        (123_456_789_012, "123 GB"),
        (5e18, "5,000 PB"),
    ],
)
def test_size(value, expected):
    assert size(value) == expected


def test_other_texts():
    assert (number(1234), number(0.25), number(2.0)) == ("1,234", "0.25", "2")
    assert (counted(1, "branch", "branches"), counted(2, "branch", "branches")) == ("1 branch", "2 branches")
    assert (moment(0), moment(None)) == ("1970-01-01 00:00:00 UTC", "not known")
    assert (short("abcdef", 6), short("abcdefghij", 8)) == ("abcdef", "abcd...j")


@pytest.mark.parametrize("most", [0, 1, 3, 7, 10, 99, 1001, 123_456, 10**15])
def test_ticks_reach_the_largest_number(most):
    marks = ticks(most)
    assert marks[0] == 0
    assert marks[-1] >= most
    assert 2 <= len(marks) <= 6
    assert len({b - a for a, b in pairwise(marks)}) == 1


def test_samples_have_both_ends():
    assert list(sampled(3, 5)) == [0, 1, 2]
    found = sampled(2000, 500)
    assert (found[0], found[-1], len(set(found))) == (0, 1999, 500)


def test_scale():
    assert Scale(10, 20, 0, 100)(15) == 50
    assert Scale(10, 10, 0, 100)(10) == 50


def test_a_drawing_is_xml_with_plain_texts():
    drawing = Drawing(10, 20)
    drawing.text(1, 2, "<&", title="]]>")
    drawing.rectangle(0, 0, 0.001, 5, "level", "a < b")
    drawing.line([(0, 0), (1.234, 5)], "grid")
    drawing.circle(1, 1, 3, "tag")
    svg = drawing.markup('"t"', "d & e")
    found = ElementTree.fromstring(svg)[0]
    assert found.get("aria-label") == '"t"'
    assert [child.tag for child in found] == ["title", "desc", "text", "rect", "polyline", "circle"]
    assert (found[3].get("width"), found[3][0].text) == ("1", "a < b")
    assert found[4].get("points") == "0,0 1.23,5"
