from paimon_core.datafile.parquet import checked_footer
from tests.support.data_files import STORAGE, Bucket, schema_of


def test_a_footer_is_verified_once_and_the_oldest_are_dropped(monkeypatch):
    checked_footer.forget()
    seen = []
    inner = checked_footer.check_columns
    monkeypatch.setattr(checked_footer, "check_columns", lambda raw, start: seen.append(len(raw)) or inner(raw, start))
    bucket = Bucket(schema_of({"n": "INT"}))
    files = [bucket.write(bucket.table({"n": range(rows)}))[0] for rows in (1, 2, 3)]
    for file in (*files, *files):
        bucket.read(file)
    assert len(seen) == 3
    monkeypatch.setattr(checked_footer, "KEPT_BYTES", 4 * max(seen))
    fourth, fifth = (bucket.write(bucket.table({"n": range(rows)}))[0] for rows in (4, 5))
    for file in (files[0], fourth, fifth, files[0]):
        bucket.read(file)
    assert len(seen) == 5, "the footer used last is kept"
    bucket.read(files[1])
    assert len(seen) == 6
    STORAGE.delete([bucket.path(file) for file in files])
    checked_footer.forget()
