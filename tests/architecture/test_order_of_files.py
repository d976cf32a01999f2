"""The order in which pytest-xdist runs the files: long files and groups first, each JVM in one worker."""

from types import SimpleNamespace

from tests.support.longest_first import LongestFirst, group_files, longest_first, tier


def test_units_are_ordered_by_the_seconds_of_their_files():
    units = {
        "tests/a.py": ["tests/a.py::t1", "tests/a.py::t2"],
        "spark": ["tests/s.py::t1@spark", "tests/u.py::t1@spark"],
        "tests/many.py": [f"tests/many.py::t{n}" for n in range(500)],
        "tests/half.py::t1": ["tests/half.py::t1"],
        "tests/half.py::t2": ["tests/half.py::t2"],
    }
    known = {"tests/a.py": 12, "tests/s.py": 9, "tests/u.py": 8, "tests/half.py": 20}
    assert longest_first(units, known) == [
        "spark", "tests/many.py", "tests/a.py", "tests/half.py::t1", "tests/half.py::t2",
    ]  # fmt: skip


def test_a_file_is_a_unit_unless_it_has_a_group_or_its_tests_are_split():
    scope = LongestFirst._split_scope
    order = object.__new__(LongestFirst)
    assert scope(order, "tests/a.py::t[1@2]") == "tests/a.py"
    assert scope(order, "tests/spark/a.py::t[1]@spark") == "spark"
    assert scope(order, "tests/soak/test_soak.py::t[1]") == "tests/soak/test_soak.py::t[1]"


def test_files_that_use_a_jvm_are_a_group():
    class Item(SimpleNamespace):
        def add_marker(self, mark):
            self.group = mark.args[0]

    def item(nodeid, *fixtures):
        return Item(nodeid=nodeid, fixturenames=fixtures, group="")

    items = [
        item("a.py::1", "oracle"),
        item("a.py::2"),
        item("b.py::1", "spark", "oracle"),
        item("c.py::1", "warehouse"),
    ]
    group_files(items)
    assert [one.group for one in items] == ["java", "java", "spark", ""]


def test_long_tests_have_durations_of_their_own():
    assert (tier("long"), tier("not long"), tier("")) == ("long", "test", "test")
