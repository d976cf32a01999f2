"""Candidate files: their age, which must be known, and the directories that are listed."""

import dataclasses

from paimon_core.maintain.candidate_files import Directory, Kind, candidates
from tests.support.fake_tables import fake_table, reopened
from tests.support.faulty_storage import FaultyStorage
from tests.support.orphan_tables import path_of, stray


def bucket(context):
    return Directory(path_of(context, stray(context)).rsplit("/", 1)[0], Kind.DATA)


def test_a_file_is_a_candidate_when_it_is_older_than_the_given_time():
    context = fake_table()
    place = bucket(context)
    (file,) = context.storage.list(place.path)
    assert candidates(context, [place], file.modified_millis).files == []
    assert candidates(context, [place], file.modified_millis + 1).files == [file]


def test_a_file_of_unknown_age_is_kept():
    class Ageless(FaultyStorage):
        def list(self, directory):
            return [dataclasses.replace(f, modified_millis=0) for f in super().list(directory)]

    context = fake_table()
    place = bucket(context)
    found = candidates(reopened(context, Ageless(context.storage)), [place], 10**15)
    assert (found.files, [p.by for p in found.protected]) == ([], ["its age is not known"])
