import importlib
import time

from benchmarks import main_job
from benchmarks.main_job import PHASES, Profile, show


def test_every_function_of_a_phase_exists():
    for name in (name for names in PHASES.values() for name in names):
        module, _, path = name.partition(":")
        owner = importlib.import_module(module)
        for part in path.split("."):
            owner = getattr(owner, part)
        assert callable(owner)


def test_a_phase_does_not_contain_the_phases_that_it_calls(monkeypatch, capsys):
    clock = iter([1.0, 3.0, 7.0, 8.0, 20.0])
    monkeypatch.setattr(main_job, "used", lambda: (next(clock), 0.0, 0.0, 0.0))
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    profile = Profile()
    with profile.phase("load"), profile.phase("commit"):
        pass
    profile.switch()
    assert {name: seconds[0] for name, seconds in profile.phases.items()} == {"other": 13.0, "load": 3.0, "commit": 4.0}
    show("phase", [("load", profile.phases["load"])])
    assert capsys.readouterr().out.split()[-10:-5] == ["load", "3.0", "0.0", "0.0", "0.0"]
