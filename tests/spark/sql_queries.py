"""Random queries: one text for tables of a lake, and the same for Spark's own tables of Parquet."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal

COLUMNS = {
    "a": {"id": "l", "grp": "t", "n": "i", "d": "d", "x": "x", "day": "dt", "ts": "ts", "ok": "b"},
    "b": {"id": "l", "a_id": "l", "name": "t", "f": "f"},
    "c": {"id": "i", "tag": "t", "arr": "arr", "s": "s"},
}
"""The columns of each table, with the kind of their values."""
SCALARS = {name: [c for c, kind in found.items() if kind not in ("arr", "s")] for name, found in COLUMNS.items()}
DDL = {
    "a": "id BIGINT NOT NULL, grp STRING NOT NULL, n INT, d DECIMAL(10, 2), x DOUBLE, day DATE, ts TIMESTAMP, "
    "ok BOOLEAN",
    "b": "id BIGINT, a_id BIGINT, name STRING, f FLOAT",
    "c": "id INT, tag STRING, arr ARRAY<INT>, s STRUCT<u INT, v STRING>",
}


def value(rng: random.Random, kind: str) -> object:
    """A value of a kind, or null; floats are such that sums do not depend on their order."""
    if rng.random() < 0.15:
        return None
    match kind:
        case "l" | "i":
            return rng.randrange(-3, 20)
        case "t":
            return rng.choice(["", "a", "b", "B", "ab", "ä", "{x}", "it's"])
        case "d":
            return Decimal(rng.randrange(-500, 500)) / 100
        case "x" | "f":
            return rng.choice([0.5, -0.0, 0.0, 1.25, 7.0, float("nan")])
        case "dt":
            return datetime.date(2024, 1, 1) + datetime.timedelta(days=rng.randrange(10))
        case "ts":
            return datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=rng.randrange(100))
        case "b":
            return rng.random() < 0.5
        case "arr":
            return [rng.randrange(5) for _ in range(rng.randrange(3))]
    return {"u": rng.randrange(5), "v": rng.choice("xy")}


def literal(rng: random.Random, kind: str) -> str:
    """A literal to compare with a column of a kind; sometimes one of another type, which Spark converts."""
    match kind:
        case "l" | "i":
            return rng.choice([str(rng.randrange(-3, 20)), "3.5", "'4'", "99999999999", "1e1"])
        case "t":
            return rng.choice(["'a'", "'b'", "'ab'", "''", "'{x}'", "'it''s'"])
        case "d":
            return rng.choice(["1.25", "0", "-2.5", "1.005"])
        case "x" | "f":
            return rng.choice(["0.5", "0", "0.1", "7", "double('nan')"])
        case "dt":
            return rng.choice(["'2024-01-05'", "DATE '2024-01-03'", "'2024-01-05 12:00:00'"])
        case "ts":
            return rng.choice(["'2024-01-03 05:00:00'", "TIMESTAMP_NTZ '2024-01-02 00:00:00'", "'2024-01-03'"])
    return rng.choice(["true", "false"])


class Texts:
    """Makes queries; ``lake`` says for which of the two kinds of tables, with the same choices for the same seed."""

    def __init__(self, seed: int, *, lake: bool) -> None:
        self.rng = random.Random(seed)
        self.lake = lake

    def table(self, name: str) -> str:
        """The table with ``name`` as its alias: by itself in a lake, stated in Spark."""
        version = self.rng.random() < 0.15 and name == "a"
        style = self.rng.randrange(3)
        if not self.lake:
            return f"pq_{name}{'_v1' if version else ''} AS {name}"
        written = ["db.{0}", "{0}", "`db`.`{0}`"][style].format(name)
        return f"{written} VERSION AS OF 1 AS {name}" if version else written

    def condition(self, names: list[str], qualified: bool, depth: int = 2) -> str:
        rng = self.rng
        if depth and rng.random() < 0.4:
            parts = [self.condition(names, qualified, depth - 1) for _ in range(2)]
            joined = f"({parts[0]} {rng.choice(['AND', 'OR'])} {parts[1]})"
            return f"NOT {joined}" if rng.random() < 0.3 else joined
        name = rng.choice(names)
        column = rng.choice(SCALARS[name])
        kind = COLUMNS[name][column]
        shown = f"{name}.{column}" if qualified else rng.choice([column, column.upper()])
        match rng.randrange(6):
            case 0:
                return f"{shown} IS {rng.choice(['', 'NOT '])}NULL"
            case 1:
                values = ", ".join(literal(rng, kind) for _ in range(3))
                return f"{shown} {rng.choice(['', 'NOT '])}IN ({values})"
            case 2:
                return f"{shown} BETWEEN {literal(rng, kind)} AND {literal(rng, kind)}"
            case 3 if kind == "l":
                return f"{shown} IN (SELECT b.a_id FROM {self.table('b')} WHERE b.f IS NOT NULL)"
        left, right = shown, literal(rng, kind)
        if rng.random() < 0.2:
            left, right = right, left
        # Spark's reader of Parquet loses the rows with -0.0 for <=> 0.0, so floats are compared without this operator.
        compared = ["=", "<>", "<", "<=", ">", ">="] + ["<=>"] * (kind not in ("x", "f"))
        return f"{left} {rng.choice(compared)} {right}"

    def where(self, names: list[str], qualified: bool) -> str:
        found = [self.condition(names, qualified) for _ in range(self.rng.randrange(4))]
        return f" WHERE {' AND '.join(found)}" if found else ""

    def single(self) -> str:
        rng = self.rng
        name = rng.choice(["a", "a", "b", "c"])
        chosen = rng.sample(SCALARS[name], rng.randrange(1, len(SCALARS[name]) + 1))
        what = rng.choice(
            [", ".join(chosen), "*", f"{name}.*", "count(*)", f"count(DISTINCT {chosen[0]}), max({name}.id)"]
        )
        return f"SELECT {what} FROM {self.table(name)}{self.where([name], False)}"

    def joined(self) -> str:
        rng = self.rng
        kind = rng.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", ","])
        left = self.table("a")
        right = self.table("b")
        on = "" if kind == "," else " ON a.id = b.a_id"
        names = ["a"] if "SEMI" in kind or "ANTI" in kind else ["a", "b"]
        what = rng.choice(["a.id, a.n", "count(*)"] if len(names) == 1 else ["a.id, b.name, f", "*", "count(*)", "b.*"])
        where = self.where(names, True)
        if kind == ",":
            where += (" AND" if where else " WHERE") + " a.id = b.a_id"
        third = f" JOIN {self.table('c')} ON c.id = a.id" if rng.random() < 0.3 and what != "*" else ""
        return f"SELECT {what} FROM {left} {kind} {right}{on}{third}{where}"

    def grouped(self) -> str:
        having = self.rng.choice(["", " HAVING count(*) > 1", " HAVING max(a.n) > 3"])
        rows = f"{self.table('a')}{self.where(['a'], True)}"
        return f"SELECT grp, count(*) c, sum(n), min(d) FROM {rows} GROUP BY grp{having}"

    def nested(self) -> str:
        inner, rng = self.single(), self.rng
        match rng.randrange(5):
            case 0:
                return f"WITH b AS (SELECT id, grp FROM {self.table('a')} WHERE id > 2) SELECT * FROM b WHERE id < 9"
            case 1:
                both = f"SELECT id FROM {self.table('a')} {rng.choice(['UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT'])} "
                return both + f"SELECT a_id FROM {self.table('b')}{self.where(['b'], False)}"
            case 2:
                return f"SELECT count(*) FROM ({inner}) q"
            case 3:
                return (
                    f"SELECT id, n FROM {self.table('a')} WHERE EXISTS (SELECT 1 FROM {self.table('b')} "
                    f"WHERE b.a_id = a.id AND b.f > 0)"
                )
        return f"SELECT c.id, e, c.s.u FROM {self.table('c')} LATERAL VIEW explode(arr) x AS e{self.where(['c'], True)}"

    def windowed(self) -> str:
        return (
            f"SELECT id, grp, row_number() OVER (PARTITION BY grp ORDER BY id, n) r, sum(n) OVER (PARTITION BY grp) "
            f"FROM {self.table('a')}{self.where(['a'], False)}"
        )

    def query(self) -> str:
        """One query."""
        kinds = (self.single, self.single, self.joined, self.joined, self.grouped, self.nested, self.windowed)
        return self.rng.choice(kinds)()
