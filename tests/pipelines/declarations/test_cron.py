import random

import pytest
from dagster._utils.schedules import is_valid_cron_string

from paimon_lake.declarations.cron import why_not_cron


@pytest.mark.parametrize(
    "text",
    ["* * * * *", "0 5 * * *", "*/15 8-18 * * mon-fri", "0 0 1,15 * *", "5/20 * * jan,dec *", "0 0 29 2 *", "0 0 * * 7",
     "0 0 31 1,2 *", "@daily", "@hourly", "0 0 31 4 1"],
)  # fmt: skip
def test_what_is_a_cron_expression(text: str) -> None:
    assert why_not_cron(text) == ""
    assert is_valid_cron_string(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has 0 fields instead of five"),
        ("0 5 * *", "it has 4 fields instead of five"),
        ("0 0 5 * * *", "it has 6 fields instead of five"),
        ("60 * * * *", "'60' is no minute (0 to 59)"),
        ("0 24 * * *", "'24' is no hour (0 to 23)"),
        ("0 0 0 * *", "'0' is no day of the month (1 to 31)"),
        ("0 0 1 13 *", "'13' is no month (1 to 12)"),
        ("0 0 1 * 8", "'8' is no day of the week (0 to 7)"),
        ("0 0 1 * sunday", "'sunday' is no day of the week"),
        ("5-1 * * * *", "'5-1' is no minute"),
        ("*/0 * * * *", "'*/0' is no minute"),
        ("1,,2 * * * *", "'1,,2' is no minute"),
        ("٣ * * * *", "is no minute"),
        ("0 0 31 4,6 *", "no such month has day 31"),
        ("0 0 30 2 1", "no such month has day 30"),
        ("@dayly", "known words are @annually, @daily"),
    ],
)
def test_what_is_none(text: str, why: str) -> None:
    assert why in why_not_cron(text)


def test_dagster_accepts_what_is_accepted_here() -> None:
    chance = random.Random(7)

    def field(low: int, high: int) -> str:
        one, other = sorted((chance.randint(low - 1, high + 1), chance.randint(low - 1, high + 1)))
        return chance.choice(("*", "*", str(one), f"{one}-{other}", f"*/{other}", f"{one}/{other}", f"{one},{other}"))

    bounds = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
    texts = {" ".join(field(*bound) for bound in bounds) for _ in range(3000)}
    accepted = [text for text in texts if not why_not_cron(text)]
    assert len(accepted) > 500
    assert [text for text in accepted if not is_valid_cron_string(text)] == []
