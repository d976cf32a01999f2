"""Commands that print the changes between two versions (resembles issue 29)."""

import json


def test_changes_and_differences(orders, command):
    code, out = command("changes", "shop.orders", "--start", "first", "--columns", "day,id", "--limit", 1)
    assert code == 0
    assert "-U" in out
    assert "(the first 1 rows: --limit N prints more)" in out
    code, out = command("diff", "shop.orders", "first", 2, "--summary")
    assert (code, out) == (0, "1 added, 0 removed, 1 changed; changed values by column: note 1\n")
    code, out = command("diff", "shop.orders", 1, 1)
    assert (code, out) == (0, "no changes\n")
    assert command("diff", "shop.orders", 1, "nope")[0] == 2


def test_limits_of_changes_tell_whether_there_are_more(orders, command):
    for command_of in (["changes", "shop.orders"], ["diff", "shop.orders", "first", 2]):
        number = len(json.loads(command(*command_of, "--json")[1]))
        assert "--limit N prints more" not in command(*command_of, "--limit", number)[1]
        code, out = command(*command_of, "--limit", number - 1)
        assert (code, f"(the first {number - 1} rows: --limit N prints more)" in out) == (0, True)
