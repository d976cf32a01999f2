"""Makes picks.json: what Java compacts in some hundred buckets (README.md beside it).

    python tests/golden/java-picks/make.py NEWER     NEWER: a folder of Java 2.1's pick classes, compiled

Buckets are random (seeded): half of them any arrangement of files, half the states of a bucket that is written to and
compacted as it goes.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.support.java_picks import CASES, ask_java, our_answer

ARRANGEMENTS, HISTORIES, STEPS = 240, 13, 16


def options_of(chance):
    trigger = chance.choice([1, 2, 3, 3, 4, 5, 5, 6])
    found = {
        "trigger": trigger,
        "numLevels": chance.choice([trigger + 1, trigger + 1, trigger + 1, chance.randint(2, 8)]),
        "maxAmplification": chance.choice([200, 200, 25, 100000, 100000]),
        "ratio": chance.choice([1, 1, 0, 10, 100]),
        "smallFile": chance.choice([1, 50, 1000, 10**9]),
    }
    if chance.random() < 0.25:
        name = chance.choice(["interval", "total", "increment"])
        found[name] = chance.choice([60_000 if name == "interval" else 100, 3_600_000, 10**9])
    if chance.random() < 0.2:
        found["offPeak"] = [chance.randint(-1, 23), chance.randint(-1, 23), chance.choice([10, 400])]
    if chance.random() < 0.3:
        found["level0"] = chance.randint(0, 2)
    if chance.random() < 0.1:
        found["forceRewrite"] = True
    return found


def bucket_of(chance, options, files):
    bucket = {"options": options, "hour": chance.randint(0, 23), "files": files}
    if chance.random() < 0.7:
        bucket["age"] = chance.choice([0, 1_800_000, 7_200_000])
    return bucket


def size_of(chance):
    return int(10 ** chance.uniform(0, chance.choice([2, 4, 7])))


def arrangement(chance):
    options = options_of(chance)
    deletes = [0, 0, 0, 3, None]
    files, sequence = [], 0
    for level in range(
        chance.choice([options["numLevels"], options["numLevels"], options["numLevels"] + 1]) - 1, 0, -1
    ):
        if chance.random() < 0.4:
            cuts = sorted(chance.sample(range(100), 2 * chance.randint(1, 4)))
            for first, last in zip(cuts[::2], cuts[1::2], strict=True):
                files.append([level, size_of(chance), first, last, sequence, sequence + 5, 0, chance.choice(deletes)])
            sequence += 6
    width = chance.choice([5, 100])
    for _ in range(chance.randint(0, options["trigger"] + 3)):
        first = chance.randint(0, 99)
        last = min(99, first + chance.randint(0, width))
        numbers = [sequence - chance.randint(0, 3), sequence, chance.randint(0, 2)]
        files.append([0, size_of(chance), first, last, *numbers, chance.choice(deletes)])
        sequence += chance.choice([1, 1, 1, 0])
    chance.shuffle(files)
    return bucket_of(chance, options, files)


def history(chance):
    """The states of one bucket: flushes, each followed by what our strategy picks, merged into one file."""
    options = options_of(chance)
    overlap = chance.choice([1.0, 0.9, 0.5])
    files = []
    for step in range(STEPS):
        first = chance.randint(0, 60)
        files.append([0, chance.randint(50, 150), first, min(99, first + chance.choice([2, 60])), step, step, 0, 0])
        bucket = bucket_of(chance, options, list(files))
        yield bucket
        picked = our_answer(bucket).get("unit")
        if picked:
            level, _, *numbers = picked
            old = [files[n] for n in numbers]
            files = [f for n, f in enumerate(files) if n not in numbers]
            ends = [min(f[2] for f in old), max(f[3] for f in old), min(f[4] for f in old), max(f[5] for f in old)]
            files.append([level, max(1, int(sum(f[1] for f in old) * overlap)), *ends, 0, 0])


def main(newer):
    chance = random.Random(1)
    buckets = [arrangement(chance) for _ in range(ARRANGEMENTS)]
    for _ in range(HISTORIES):
        buckets += history(chance)
    older = ask_java(buckets)
    cases = []
    for bucket, then, now in zip(buckets, older, ask_java(buckets, first=newer), strict=True):
        case = {"bucket": bucket, "java": now}
        if then != now:
            case["java-1.4.2"] = {k: v for k, v in then.items() if now.get(k) != v}
        cases.append(case)
    CASES.write_text("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
    differ = sum("java-1.4.2" in c for c in cases)
    print(f"{len(cases)} buckets, {differ} of them other in 1.4.2, {CASES.stat().st_size} bytes")


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except subprocess.CalledProcessError as error:
        sys.exit(error.stderr)
