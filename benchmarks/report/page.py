"""Page: the results as one HTML page that needs nothing else, and as pictures in SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.report.charts import dots, lines
from benchmarks.report.libraries import LIMIT, NAMES
from benchmarks.report.rounds import SHAPES
from benchmarks.report.settings import described
from paimon_core.health.page.style import style_sheet
from paimon_core.health.page.texts import escaped

Results = dict[str, Any]
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_EXTRA = "table{display:block;overflow-x:auto}td{vertical-align:top}svg{max-width:100%;height:auto}small{display:block}"


def pictures(results: Results) -> dict[str, str]:
    """Return the pictures by file name, of the parts that the results have."""
    found: dict[str, str] = {}
    if "shapes" in results:
        found["bench-peers.svg"] = _peers(results)
    if "engines" in results:
        found["bench-engines.svg"] = _engines(results)
    for by, curves in results.get("curves", {}).items():
        points = {c["measure"]: [(x, y) for x, y in c["points"] if y > 0] for c in curves}
        title = f"paimon_core: processor seconds by the number of {by}"
        name = f"bench-{by.replace(' ', '-')}.svg"
        found[name] = lines(title, "least of several runs, lower is better", points, by, "s")
    if "longevity" in results:
        long = results["longevity"]
        step = max(1, long["rounds"] // 10)
        points = {m: [((n + 1) * step, s) for n, s in enumerate(numbers)] for m, numbers in long["seconds"].items()}
        title = f"paimon_core: one table over {long['rounds']:,} rounds of a write, a query and a plan"
        found["bench-longevity.svg"] = lines(
            title, "median processor seconds of each tenth of the rounds; a flat line is wanted", points, "rounds", "s"
        )
    return found


def _peers(results: Results) -> str:
    rows = {
        shape: {NAMES[side]: _best(cell) for side, cell in row.items() if _best(cell) > 0}
        for shape, row in results["shapes"].items()
    }
    settings, machine = results["parts"]["shapes"]["settings"], results["machine"]
    subtitle = (
        f"least processor seconds of {settings['repeats']} interleaved rounds, all threads, lower is better; "
        f"{machine['processors']} processors"
    )
    return dots(
        f"{settings['rows']:,} rows of 8 columns, {settings['plan_files']:,} files: paimon_core beside others",
        subtitle, _ordered(rows), "s",
    )  # fmt: skip


def _ordered(rows: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Return the rows with the series in the order of NAMES in the first row, which decides about their marks."""
    names = [name for name in NAMES.values() if any(name in row for row in rows.values())]
    return {shape: {name: row[name] for name in names if name in row} for shape, row in rows.items() if row}


def _engines(results: Results) -> str:
    rows = {
        name: {NAMES[side]: _best(cell) for side, cell in row.items() if _best(cell) > 0}
        for name, row in results["engines"].items()
    }
    title = (
        f"Tables with a primary key, {results['parts']['engines']['settings']['engine_rows']:,} rows a batch, 5 batches"
    )
    return dots(title, "least processor seconds of interleaved runs, lower is better", _ordered(rows), "s")


def _best(cell: Mapping[str, Any]) -> float:
    return float(cell["processor_seconds"]["min"]) if "processor_seconds" in cell else math.nan


def page(results: Results, images: Mapping[str, str]) -> str:
    """Return the whole page."""
    parts = results["parts"]
    body = [
        f"<h1>Benchmarks of paimon_core</h1><p>{escaped(described(results['machine']))}. Revision "
        f"{escaped(results['machine']['revision'])}, mode {escaped(results['mode'])}.</p>"
        "<p>Seconds are processor seconds of all threads of the library's process: the least of all rounds, and in "
        "brackets the quartiles. A ratio is the other library's seconds divided by those of paimon_core in the same "
        "round: its median and quartiles. Memory is the peak resident memory of the process during the operation, "
        "with the interpreter or the JVM and the rows that are written or read.</p>",
        _libraries(results),
    ]
    rows = [[name, part["started"], f"{part['load']:.1f}", _settings(part["settings"])] for name, part in parts.items()]
    body.append("<h2>Parts</h2>" + _table(["part", "started", "load", "settings"], rows))
    if results["marks"]:
        rows = [
            [m["what"], m["beside"], f"{m['wanted']:g}", f"{m['reached']:.2f}", m["verdict"]] for m in results["marks"]
        ]
        body.append("<h2>Marks</h2>" + _table(["what", "beside", "times as fast, wanted", "reached", ""], rows))
    if "shapes" in results:
        body += [
            f"<h2>Operations: {parts['shapes']['settings']['rows']:,} rows</h2>",
            images["bench-peers.svg"],
            _cells(results, "shapes"),
        ]
    if "engines" in results:
        head = f"<h2>Keys and merge engines: batches of {parts['engines']['settings']['engine_rows']:,} rows</h2>"
        body += [head, images["bench-engines.svg"], _cells(results, "engines")]
    for by, curves in results.get("curves", {}).items():
        sizes = [f"{x:,}" for x, _ in curves[0]["points"]]
        rows = [[c["measure"], *(f"{y:.4f} s" for _, y in c["points"]), _exponent(c["exponent"])] for c in curves]
        body += [f"<h2>Cost by {escaped(by)}</h2>", images[f"bench-{by.replace(' ', '-')}.svg"]]
        body.append(_table([by, *sizes, "exponent"], rows))
    if "longevity" in results:
        body += ["<h2>Longevity</h2>", images["bench-longevity.svg"], _longevity(results["longevity"])]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Benchmarks of paimon_core</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><style>{style_sheet()}{_EXTRA}</style>'
        f"<body>{''.join(body)}</body></html>\n"
    )


def _libraries(results: Results) -> str:
    rows = [
        [NAMES[side], ", ".join(f"{name} {version}" for name, version in versions.items())]
        for side, versions in results["versions"].items()
    ]
    rows += [[NAMES[side], f"not measured: {reason}"] for side, reason in results["missing"].items()]
    return "<h2>Libraries</h2>" + _table(["library", "versions"], rows)


def _cells(results: Results, part: str) -> str:
    sides = [side for side in NAMES if any(side in row for row in results[part].values())]
    rows = []
    for name, row in results[part].items():
        ratios = results["ratios"][part][name]
        cells = [_cell(row[side], ratios.get(side)) if side in row else "not part of this comparison" for side in sides]
        rows.append([SHAPES.get(name, name), *cells])
    return _table(["operation", *(NAMES[s] if s != LIMIT else "limit: Arrow alone" for s in sides)], rows)


def _cell(cell: Mapping[str, Any], ratio: Mapping[str, float] | None) -> str:
    if "reason" in cell:
        return str(cell["reason"])
    seconds = cell["processor_seconds"]
    text = [f"{seconds['min']:.4f} s ({seconds['q1']:.4f} to {seconds['q3']:.4f})"]
    if ratio is not None:
        text.append(f"{ratio['median']:.2f} times ours ({ratio['q1']:.2f} to {ratio['q3']:.2f})")
    if "failed_later" in cell:
        text.append(f"after {len(cell['rounds'])} rounds: {cell['failed_later']}")
    return "\n".join([*text, f"{cell['peak_bytes'] / 1e6:,.0f} MB"])


def _settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def _exponent(number: float | None) -> str:
    return "too fast to fit" if number is None or math.isnan(number) else f"{number:.2f}"


def _longevity(long: Mapping[str, Any]) -> str:
    step = max(1, long["rounds"] // 10)
    count = len(next(iter(long["seconds"].values())))
    rows = [[m, *(f"{s:.4f} s" for s in numbers)] for m, numbers in long["seconds"].items()]
    rows.append(["peak memory", *(f"{b / 1e6:,.0f} MB" for b in long["peak_bytes"])])
    rows.append(["files on disk", *(f"{n:,}" for n in long["files"])])
    return _table(["until round", *(f"{(n + 1) * step:,}" for n in range(count))], rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escaped(head)}</th>" for head in heads)
    lines_ = (
        "<tr>" + "".join(f"<td>{escaped(cell).replace(chr(10), '<br>')}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{top}</tr>{''.join(lines_)}</table>"
