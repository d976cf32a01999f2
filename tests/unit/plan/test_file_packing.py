"""Packing on columns gives the splits that packing of values gives, bucket by bucket."""

import random
from dataclasses import replace

import numpy as np
import pytest

from paimon_core.codec.binary_row.rows import encode_row
from paimon_core.lsm.key_order import key_order
from paimon_core.metadata.data_file import DataFile
from paimon_core.plan.file_packing import FileColumns, PackingRule, pack_files
from paimon_core.plan.split import Packing, pack_append, pack_keyed
from paimon_core.types import parse_type
from tests.support.lsm_files import is_clean

KEY = (parse_type("INT NOT NULL"),)
PACKING = Packing(100, 10)


def key(number):
    return encode_row([number], KEY)


def columns(files, groups):
    def ranks(at):
        chosen = [files[i] for i in at]
        each = ([int.from_bytes(getattr(f, m)[12:16], "little") for f in chosen] for m in ("min_key", "max_key"))
        return tuple(np.array(keys, np.int64) for keys in each)

    def numbers(name):
        return np.array([getattr(f, name) for f in files], np.int64)

    names = ("level", "file_size", "row_count", "min_sequence_number", "max_sequence_number")
    clean = np.array([f.delete_row_count == 0 for f in files], bool)
    return FileColumns(np.array(groups, np.int64), max(groups, default=-1) + 1, *map(numbers, names), clean, ranks)


def random_file(number, numbers):
    first = numbers.randrange(20)
    sequence = numbers.randrange(1000)
    return DataFile(
        f"f{number}",
        numbers.choice([1, 30, 60, 200]),
        numbers.randrange(9),
        0,
        numbers.choice([0, 0, 1, 5]),
        key(first),
        key(first + numbers.randrange(4)),
        min_sequence_number=sequence,
        max_sequence_number=sequence + numbers.randrange(20),
        delete_row_count=numbers.choice([0, 0, 0, 1, None]),
    )


def bucket(numbers):
    """Return files of several levels, of one level, or one file."""
    files = [random_file(numbers.random(), numbers) for _ in range(numbers.choice([1, 2, 6, 12]))]
    shape = numbers.randrange(3)
    if shape:
        files = [replace(f, level=5, delete_row_count=0 if shape == 1 else f.delete_row_count) for f in files]
    return files


def by_values(files, rule, may_match):
    if not rule.keyed or (rule.unique and all(map(is_clean, files))):
        return pack_append([f for f in files if may_match is None or may_match(f)], rule.packing)
    return pack_keyed(files, key_order(KEY), rule.packing, may_match, is_clean=is_clean, combines=rule.combines)


@pytest.mark.parametrize("rule", [(False,), (True,), (True, True), (True, False, True)])
@pytest.mark.parametrize("is_filtered", [False, True])
def test_the_splits_of_each_bucket_are_those_of_its_values(rule, is_filtered):
    rule = PackingRule(PACKING, *rule)
    numbers = random.Random(1)
    for _ in range(20):
        buckets = [bucket(numbers) for _ in range(numbers.randrange(1, 6))]
        placed = [(group, f) for group, files in enumerate(buckets) for f in files]
        numbers.shuffle(placed)
        files, groups = [f for _, f in placed], [group for group, _ in placed]
        matches = np.array([numbers.random() < 0.3 for _ in files]) if is_filtered else None
        named = {f.file_name for f, chosen in zip(files, matches, strict=True) if chosen} if is_filtered else None
        may_match = (lambda f, named=named: f.file_name in named) if is_filtered else None
        found = [[] for _ in buckets]
        for some in pack_files(columns(files, groups), rule, matches):
            chosen = tuple(files[at] for at in some.files)
            found[some.group].append((chosen, some.layout))
            assert some.row_count == sum(f.row_count for f in chosen)
            assert some.size_bytes == sum(f.file_size for f in chosen)
        for group, splits in enumerate(found):
            assert splits == by_values([f for at, f in placed if at == group], rule, may_match)


def test_sizes_that_exceed_64_bits_together_are_added_exactly():
    files = [DataFile(f"f{at}", 2**62, 2**62, 0) for at in range(3)]
    (whole,) = pack_files(columns(files, [0, 0, 0]), PackingRule(Packing(2**65, 1), False))
    assert (whole.size_bytes, whole.row_count) == (3 * 2**62, 3 * 2**62)


def test_without_files_there_is_no_split():
    assert list(pack_files(columns([], []), PackingRule(PACKING, True))) == []
