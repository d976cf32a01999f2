"""Writes one report of all benchmarks: ``python -m benchmarks.report [--smoke] [--only NAME ...]``.

``build/bench`` gets ``report.html``, which needs nothing else, its pictures in SVG and ``results.json`` with all
figures, versions, settings and the machine. A name of ``--only`` is a part (shapes, engines, curves, longevity) or a
shape such as ``"scan after upsert"``. Each part is written when it is complete, and shapes after each round. With
``--only``, parts that an earlier run of the same mode has written to the folder are kept, each with its own time,
settings and load.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report.cells import ratios
from benchmarks.report.curves import curves
from benchmarks.report.engines import engines
from benchmarks.report.libraries import NAMES, OURS, Sides, started
from benchmarks.report.longevity import longevity
from benchmarks.report.marks import marks
from benchmarks.report.page import Results, page, pictures
from benchmarks.report.rounds import SHAPES, Cells, Rounds
from benchmarks.report.settings import FULL, SMOKE, Settings, as_numbers, machine
from benchmarks.timing import log

PARTS = ("shapes", "engines", "curves", "longevity")


def arguments(args: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.report", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="few rows, and no installation of other libraries")
    parser.add_argument("--only", nargs="+", choices=[*PARTS, *SHAPES], metavar="NAME", help="parts or shapes")
    parser.add_argument("--sides", nargs="+", choices=list(NAMES), default=list(NAMES), help="the libraries")
    parser.add_argument("--rows", type=int, help="rows of the shapes")
    parser.add_argument("--repeats", type=int, help="rounds of the shapes that count")
    parser.add_argument("--engine-rows", type=int, help="rows of a batch of the keys and merge engines")
    parser.add_argument("--curve-rows", type=int, nargs="+", help="numbers of rows of the curves")
    parser.add_argument("--longevity", type=int, metavar="ROUNDS", help="rounds of longevity")
    parser.add_argument("--output", type=Path, default=Path("build/bench"), help="the folder of the report")
    found = parser.parse_args(args)
    for name, least in (("rows", 100), ("repeats", 1), ("engine_rows", 100), ("longevity", 10)):
        value = getattr(found, name)
        if value is not None and value < least:
            parser.error(f"--{name.replace('_', '-')} must be at least {least}, not {value}")
    if found.curve_rows and min(found.curve_rows) < 100:
        parser.error(f"--curve-rows must be at least 100, not {min(found.curve_rows)}")
    if OURS not in found.sides:
        parser.error(f"--sides must contain {OURS}")
    return found


def settings_of(args: argparse.Namespace) -> Settings:
    """Return the settings of the mode, with what the command line changes."""
    chosen = SMOKE if args.smoke else FULL
    names = ("rows", "repeats", "engine_rows", "longevity")
    changes: dict[str, Any] = {name: getattr(args, name) for name in names if getattr(args, name)}
    if args.curve_rows:
        changes["curve_rows"] = tuple(args.curve_rows)
    return dataclasses.replace(chosen, **changes)


def measure(args: argparse.Namespace, settings: Settings, folder: Path, sides: Sides, results: Results) -> None:
    """Run the wanted parts, add them to the results, and write the report after each."""
    only = args.only or PARTS
    shapes = tuple(SHAPES) if "shapes" in only else tuple(shape for shape in SHAPES if shape in only)
    began: dict[str, Any] = {}

    def round_ended(rounds: int, cells: Cells) -> None:
        _add(results, "shapes", cells)
        results["parts"]["shapes"] = began | {"settings": as_numbers(dataclasses.replace(settings, repeats=rounds))}
        write(results, args.output)

    parts: dict[str, Callable[[], Any]] = {
        "shapes": lambda: Rounds(sides, settings, folder, shapes=shapes).run(round_ended),
        "engines": lambda: _add(results, "engines", engines(sides, settings)),
        "curves": lambda: results.update(curves=_curves(sides, settings, folder)),
        "longevity": lambda: results.update(longevity=longevity(sides, settings, folder)),
    }
    for name, part in parts.items():
        if name in only or (name == "shapes" and shapes):
            began = {"started": _now(), "load": os.getloadavg()[0], "settings": as_numbers(settings)}
            part()
            results["parts"][name] = began
            write(results, args.output)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def _curves(sides: Sides, settings: Settings, folder: Path) -> dict[str, Any]:
    by = curves(sides, settings, folder)
    return {name: [{"measure": curve.measure, **curve.numbers()} for curve in some] for name, some in by.items()}


def _add(found: Results, part: str, cells: Cells) -> None:
    found[part] = {name: {side: cell.numbers() for side, cell in row.items()} for name, row in cells.items()}
    found["ratios"][part] = {
        name: {side: ratio for side, cell in row.items() if side != OURS and (ratio := ratios(cell, row[OURS]))}
        for name, row in cells.items()
    }
    found["marks"] = [m for m in found["marks"] if (m["what"] in SHAPES) != (part == "shapes")]
    found["marks"] += [mark.numbers() for mark in marks(cells)]


def write(results: Results, folder: Path) -> None:
    """Write the page, its pictures and the results to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    images = pictures(results)
    for name, image in images.items():
        (folder / name).write_text(image)
    (folder / "report.html").write_text(page(results, images))
    (folder / "results.json").write_text(json.dumps(_plain(results), indent=1, allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    """Return a value without NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def main(args: Sequence[str] | None = None) -> int:
    """Measure and write the report."""
    found = arguments(args)
    settings, start = settings_of(found), time.monotonic()
    mode = "smoke" if found.smoke else "full"
    results: Results = {"ratios": {}, "parts": {}, "marks": []}
    earlier = found.output / "results.json"
    if found.only and earlier.exists() and (old := json.loads(earlier.read_text()))["mode"] == mode:
        results |= old
    results |= {"mode": mode, "machine": machine()}
    log("starting the libraries")
    with (
        tempfile.TemporaryDirectory(prefix="paimon-bench-") as folder,
        started(Path(folder), found.sides, settings.limit_seconds, install=not found.smoke) as sides,
    ):
        versions = results.get("versions", {}) | sides.versions()
        missing = {side: reason for side, reason in sides.missing.items() if side not in versions}
        results |= {"versions": versions, "missing": missing}
        measure(found, settings, Path(folder), sides, results)
    print(f"{found.output}/report.html, {time.monotonic() - start:.0f} s")
    missed = [mark for mark in results.get("marks", ()) if mark["verdict"] == "missed"]
    for mark in missed if not found.smoke else ():
        print(f"missed: {mark['what']}: {mark['reached']:.2f} times {mark['beside']}, wanted {mark['wanted']:g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
