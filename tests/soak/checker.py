"""Checker: combines the journals of all workers, replays the commits, and compares the results with what was read.

Operations are ordered by epoch (see ``gate``) and snapshot id. User and identifier of a snapshot determine its
operation, also when the process was killed before it recorded the result. If only a killed process can have created
the snapshot of an id, it is the one that this process was about to publish.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.soak.gate import Gate
from tests.soak.journal import Line, all_lines, content_of
from tests.soak.model import Engine, State, apply, asked, content, content_hash

Facts = dict[str, Any]
Position = tuple[int, int]
"""An epoch and a snapshot id."""
COMPACT = "COMPACT"


def plain(text: str) -> str:
    """Return a message without file names and numbers, so that messages of one kind are equal."""
    return re.sub(r"/\S+|\b[\w-]*\d[\w.-]*", "#", text)


@dataclass
class Operation:
    """One operation of a worker, perhaps repeated after the worker was killed."""

    begins: list[Line] = field(default_factory=list)
    ends: list[Line] = field(default_factory=list)
    positions: list[tuple[Position, str]] = field(default_factory=list)
    """The positions of its snapshots with their uuids, without compactions."""

    @property
    def spec(self) -> dict[str, Any]:
        found: dict[str, Any] = self.begins[0]["spec"]
        return found

    def __str__(self) -> str:
        begin = self.begins[0]
        return f"operation {begin['user']} {begin['op']} {begin['spec']!s:.300}"


@dataclass
class Verdict:
    violations: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    snapshots: int = 0
    verified: int = 0
    reads: int = 0
    withdrawn: int = 0
    slowest: float = 0.0


class Checker:
    def __init__(self, folder: Path, engine: Engine) -> None:
        self.folder, self.engine = folder, engine
        self.lines = all_lines(folder)
        self.targets = Gate(folder).targets()
        self.verdict = Verdict()
        self.operations: dict[tuple[str, int | None], Operation] = defaultdict(Operation)
        self.facts: dict[str, Facts] = {}
        self.epoch_of: dict[str, int] = {}
        self.made_at: dict[str, int] = {}
        """The time at which the first publish began, by uuid."""
        self.earliest: dict[str, int] = {}
        """The smallest existing id when it was published, by uuid."""
        self.sure: set[str] = set()
        """Uuids of snapshots that certainly existed."""
        self.refused: set[str] = set()
        self.reads: dict[str, list[Line]] = defaultdict(list)
        self.position: dict[str, Position] = {}
        self.history: dict[Any, deque[str]] = defaultdict(lambda: deque(maxlen=5))
        self.known: set[Any] = set()
        """Differences that are already reported: they are in all later snapshots too."""

    def check(self) -> Verdict:
        for line in self.lines:
            getattr(self, f"_{line['what']}", lambda line: None)(line)
        self._replay()
        self._check_operations()
        self.verdict.verified = len(self.reads)
        return self.verdict

    def fail(self, problem: str) -> None:
        self.verdict.violations.append(problem)

    # -- the lines of the journals

    def _key(self, user: str, identifier: int) -> tuple[str, int | None]:
        """Return the key of an operation: writes have the worker as user, other operations a user of their own."""
        return (user, None) if "-" in user else (user, identifier)

    def _begin(self, line: Line) -> None:
        self.operations[self._key(line["user"], line["op"])].begins.append(line)

    def _end(self, line: Line) -> None:
        self.verdict.slowest = max(self.verdict.slowest, line["seconds"])
        name = line["worker"]
        operation = self.operations.get((name, line["op"])) or self.operations[f"{name}-{line['op']}", None]
        operation.ends.append(line)
        outcome = line["outcome"].split()[0]
        if outcome == "ok" and line["snapshot"] is None:
            outcome = "nothing to do"
        self.verdict.counts[f"{operation.spec['do']} {outcome}"] += 1
        if line["snapshot"] is not None:
            self._note(line["snapshot"], operation.begins[-1]["epoch"])
            self.sure.add(line["snapshot"]["uuid"])

    def _done(self, line: Line) -> None:
        self.verdict.counts[f"{line['action']} {line['outcome']}"] += 1

    def _violation(self, line: Line) -> None:
        self.fail(f"{line['worker']}: {line['action']}: {line['problem']}")

    def _warning(self, line: Line) -> None:
        self.verdict.warnings[plain(line["text"])[:200]] += 1

    def _publish(self, line: Line) -> None:
        self._note(line["snapshot"], line["epoch"])
        self.made_at.setdefault(line["snapshot"]["uuid"], line["at"])
        self.earliest[line["snapshot"]["uuid"]] = line.get("earliest", 1)

    def _published(self, line: Line) -> None:
        (self.sure if line["made"] else self.refused).add(line["uuid"])

    def _seen(self, line: Line) -> None:
        self._note(line["snapshot"], line["epoch"])
        self.sure.add(line["snapshot"]["uuid"])

    def _read(self, line: Line) -> None:
        self.verdict.reads += 1
        self.verdict.counts[f"{line['how']} ok"] += 1
        self.facts.setdefault(line["snapshot"]["uuid"], line["snapshot"])
        self.sure.add(line["snapshot"]["uuid"])
        self.reads[line["snapshot"]["uuid"]].append(line)

    def _note(self, snapshot: Facts, epoch: int) -> None:
        uuid = snapshot["uuid"]
        self.facts.setdefault(uuid, snapshot)
        self.epoch_of[uuid] = min(epoch, self.epoch_of.get(uuid, epoch))

    # -- the snapshot chain of each epoch

    def _replay(self) -> None:
        at: dict[Position, list[str]] = defaultdict(list)
        for uuid, epoch in self.epoch_of.items():
            at[epoch, self.facts[uuid]["id"]].append(uuid)
        wanted = {target["uuid"] for target in self.targets.values()}
        kept: dict[str, State] = {}
        for epoch in range(max(self.targets, default=0) + 1):
            target = self.targets.get(epoch, {"id": 0, "uuid": ""})
            state: State = {} if epoch == 0 else kept.get(target["uuid"], {})
            if epoch and target["uuid"] not in kept:
                self.fail(f"undecided: the target of the rollback to {target} was never seen")
                return
            top = max((number for e, number in at if e == epoch and self._stood(at[e, number])), default=target["id"])
            questions = Questions(self, epoch, target["id"], state)
            for number in range(target["id"] + 1, top + 1):
                uuid = self._chosen(at[epoch, number], (epoch, number))
                if uuid is None:
                    return
                state = self._step(uuid, (epoch, number), state)
                questions.look(number, state)
                if uuid in wanted:
                    kept[uuid] = state
            questions.end()
        unplaced = [line for uuid, lines in self.reads.items() if uuid not in self.position for line in lines]
        for line in unplaced[:5]:
            self.fail(f"{line['worker']} read snapshot {line['snapshot']}, which is not in the chain")

    def _stood(self, uuids: list[str]) -> bool:
        return any(uuid in self.sure for uuid in uuids)

    def _chosen(self, uuids: list[str], position: Position) -> str | None:
        """Return the snapshot that was first committed with this id; later ones are orphaned and were withdrawn."""
        found = sorted((u for u in uuids if u in self.sure), key=lambda u: self.made_at.get(u, 0))
        found = found or [u for u in uuids if u not in self.refused]
        if not found or (len(found) > 1 and found[0] not in self.sure):
            self.fail(f"undecided: snapshot {position[1]} of epoch {position[0]} is one of {len(found)}")
            return None
        self.verdict.withdrawn += len(found) - 1
        return found[0]

    def _step(self, uuid: str, position: Position, state: State) -> State:
        """Apply the operation of the snapshot to the rows, and compare the result with all reads of the snapshot."""
        facts = self.facts[uuid]
        self.position[uuid] = position
        self.verdict.snapshots += 1
        operation = self.operations.get(self._key(facts["user"], facts["identifier"]))
        after = state
        if facts["kind"] != COMPACT:
            if operation is None:
                self.fail(f"snapshot {facts} is nobody's")
                return state
            operation.positions.append((position, uuid))
            after = apply(self.engine, state, operation.spec)
            begin = operation.begins[0]
            told = f"{begin['user']} {begin['op']}, {operation.spec['do']} {operation.spec.get('where', '')}".strip()
            for key in {k for k, _ in state.items() ^ after.items()}:
                self.history[key].append(f"epoch {position[0]}, snapshot {position[1]}, {told}: {after.get(key)}")
        if uuid in self.reads:
            wanted = content(after)
            digest = content_hash(wanted)
            for line in self.reads[uuid]:
                if line["digest"] != digest:
                    self._differs(line, wanted, position, operation)
        return after

    def _differs(self, line: Line, wanted: list[Any], position: Position, operation: Operation | None) -> None:
        found = content_of(self.folder, line["digest"])
        there, expected = Counter(map(tuple, found)), Counter(map(tuple, wanted))
        fresh = [("too much", row) for row in there - expected] + [("missing", row) for row in expected - there]
        repeated = self._repeated_rows()
        fresh = [each for each in fresh if each not in self.known and each not in repeated]
        self.known.update(fresh)
        if not fresh:
            return
        past = []
        for row in {row[:2]: row for _, row in fresh}.values():
            past += [f"    {row[:2]}: {h}" for h in self.history[self.engine.key(*row[:3])]]
        self.fail(
            f"{line['worker']} ({line['how']}) finds other rows than were committed in epoch {position[0]}, snapshot "
            f"{position[1]} ({line['snapshot']['kind']}, {operation}): {fresh[:6]}\n" + "\n".join(past[:20])
        )

    # -- single operations

    def _check_operations(self) -> None:
        for operation in self.operations.values():
            for end in operation.ends:
                self._check_end(operation, end)
            if len(operation.positions) > 1 and not self._may_repeat(operation):
                self.fail(f"{operation} stands twice: {operation.positions}")

    def _check_end(self, operation: Operation, end: Line) -> None:
        made = end["snapshot"]
        if end["outcome"] == "ok" and made is not None:
            if made["uuid"] not in self.position:
                self.fail(f"{operation} was acknowledged as snapshot {made}, which is not in the chain")
            elif self.operations.get(self._key(made["user"], made["identifier"])) is not operation:
                self.fail(f"{operation} was acknowledged as snapshot {made}, which is another's")
        elif end["outcome"] == "ok" and operation.spec["do"] in ("write", "overwrite"):
            self.fail(f"{operation} of rows was acknowledged without a snapshot")
        elif end["outcome"] == "conflict" and operation.positions and len(operation.begins) == 1:
            self.fail(f"{operation} was refused, and stands: {operation.positions}")

    def _repeated_rows(self) -> set[Any]:
        """Return rows that are twice in an append table, because their commit was repeated after its expiry."""
        repeated = [o for o in self.operations.values() if len(o.positions) > 1 and self._may_repeat(o)]
        return {("too much", tuple(row[1:])) for o in repeated for row in o.spec.get("rows", ())}

    def _may_repeat(self, operation: Operation) -> bool:
        """Whether a repeat may commit again: an identifier is known only until its snapshot expires."""
        if len(operation.positions) > len(operation.begins):
            return False
        return all(
            epoch == later and self.earliest.get(uuid, 0) > number
            for ((epoch, number), _), ((later, _), uuid) in pairwise(operation.positions)
        )


class Questions:
    """Deletes of one epoch that found no rows: at some moment during each of them no row may have matched."""

    def __init__(self, checker: Checker, epoch: int, first: int, state: State) -> None:
        self.checker = checker
        self.open: dict[int, tuple[Operation, Line, Line]] = {}
        for operation in checker.operations.values():
            if operation.spec["do"] == "delete" and operation.begins[0]["epoch"] == epoch:
                for end in operation.ends:
                    if end["outcome"] == "ok" and end["snapshot"] is None:
                        self.open[id(end)] = operation, operation.begins[0], end
        self.look(first, state)

    def look(self, number: int, state: State) -> None:
        for key, (operation, begin, end) in list(self.open.items()):
            if begin["before"] <= number <= end["after"] and not asked(state, operation.spec["where"]):
                del self.open[key]
            elif end["after"] < number:
                self._fail(key)

    def end(self) -> None:
        for key in list(self.open):
            self._fail(key)

    def _fail(self, key: int) -> None:
        operation, begin, end = self.open.pop(key)
        self.checker.fail(
            f"{operation} found nothing to delete, but rows matched at every snapshot from {begin['before']} to "
            f"{end['after']} of epoch {begin['epoch']}"
        )
