"""A function that runs commands on a warehouse in memory."""

import itertools

import pytest

from paimon_core.cli.main import main

_numbers = itertools.count()


@pytest.fixture
def place():
    return f"memory://rows-{next(_numbers)}"


@pytest.fixture
def command(place, capsys, monkeypatch):
    """Return a function that runs one command and returns its exit code and what it printed, errors last."""
    monkeypatch.setenv("PAIMON_WAREHOUSE", place)

    def run(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stopped:
            code = stopped.code
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return run
