import contextlib
import os
import stat
import sys
from pathlib import Path

import pytest

import outrider

HERE = Path(__file__).parent


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Puts the fake sidecar in the place of the real one; call it with the way it is to misbehave."""
    path = tmp_path / "outrider"
    package = Path(outrider.__file__).parent.parent
    path.write_text(f'#!/bin/sh\nPYTHONPATH={package} exec {sys.executable} {HERE / "fake_sidecar.py"} "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def use(mode=""):
        monkeypatch.setenv("OUTRIDER_BINARY", str(path))
        monkeypatch.setenv("FAKE", mode)
        return path

    use()
    return use


@pytest.fixture(autouse=True)
def _logs(tmp_path, monkeypatch):
    """Sidecars log below the test's own directory."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    os.environ.setdefault("OUTRIDER_VERIFY", "all")


def rows(count=8):
    return [{"question": f"frage {i} \u00e4\u2713", "number": i} for i in range(count)]


@pytest.fixture
def own():
    """Owns runs in this process and closes what a test leaves open."""
    runs = []

    def make(name="test", *, count=8, group_size=2, batch_groups=2, epochs=None, source=None, **more):
        source = source or outrider.table(rows(count), epochs=epochs)
        run = outrider.own(name, source=source, group_size=group_size, batch_groups=batch_groups, **more)
        runs.append(run)
        return run

    yield make
    for run in runs:
        with contextlib.suppress(outrider.Error):
            run.close(force=True)
