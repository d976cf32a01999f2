from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from paimon_core.metadata.member_types import checked


@dataclass
class Values:
    number: int = 1
    text: str | None = None
    either: int | str = 1
    pair: tuple[int, str] = (1, "a")
    many: tuple[bytes | None, ...] = ()
    listed: Sequence[int] = ()
    named: Mapping[str, tuple[int, ...]] | None = None


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"text": "a", "either": "b"},
        {"pair": (2, ""), "many": (b"", None)},
        {"listed": [1, 2], "named": {"a": (1,), "b": ()}},
        {"listed": (1,), "named": {}},
    ],
)
def test_values_of_the_annotated_types_are_returned(members):
    value = Values(**members)
    assert checked(value) is value


@pytest.mark.parametrize(
    ("name", "member"),
    [
        ("number", True),
        ("number", None),
        ("number", 1.0),
        ("text", 1),
        ("either", False),
        ("either", b""),
        ("pair", (1,)),
        ("pair", (1, "a", "b")),
        ("pair", (True, "a")),
        ("pair", [1, "a"]),
        ("many", (b"", "a")),
        ("many", [b""]),
        ("listed", [1, True]),
        ("listed", {1}),
        ("listed", "12"),
        ("named", {"a": [1]}),
        ("named", {1: (1,)}),
        ("named", {"a": ("1",)}),
        ("named", [("a", (1,))]),
    ],
)
def test_a_member_of_another_type_is_refused_by_name(name, member):
    with pytest.raises(TypeError, match=f"^{name} is "):
        checked(Values(**{name: member}))


def test_a_subclass_of_an_annotated_type_fits():
    class Text(str):
        pass

    assert checked(Values(text=Text("a"))).text == "a"
