from types import SimpleNamespace

from paimon_core.metadata.buckets import by_bucket


def test_values_are_grouped_in_order_of_first_appearance():
    places = [(b"b", 1), (b"a", 1), (b"b", 0), (b"a", 1), (b"b", 1)]
    values = [SimpleNamespace(partition=p, bucket=b, number=n) for n, (p, b) in enumerate(places)]
    found = by_bucket(iter(values))
    assert list(found) == [(b"b", 1), (b"a", 1), (b"b", 0)]
    assert [[v.number for v in some] for some in found.values()] == [[0, 4], [1, 3], [2]]
    assert by_bucket(()) == {}
