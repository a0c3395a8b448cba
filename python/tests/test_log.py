"""What becomes of a run whose log cannot be written."""

import os

import pytest
from test_life import engine

import outrider


def no_directory(tmp_path, monkeypatch):
    (tmp_path / f"outrider-{os.getuid()}").touch()


def a_full_disk(tmp_path, monkeypatch):
    directory = tmp_path / f"outrider-{os.getuid()}"
    directory.mkdir()
    (directory / f"outrider-owner-driver-{os.getpid()}.log").symlink_to("/dev/full")


def nowhere_to_write(tmp_path, monkeypatch):
    def none():
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr("tempfile.gettempdir", none)
    monkeypatch.setattr("os.getuid", lambda: "of-nobody/at-all")


@pytest.mark.parametrize("broken", [no_directory, a_full_disk, nowhere_to_write])
def test_S10_06_a_run_goes_on_without_its_log_and_says_so_once(broken, own, caplog, tmp_path, monkeypatch):
    broken(tmp_path, monkeypatch)
    run = own(count=4, epochs=1)
    with engine(run), outrider.Trainer(run) as trainer:
        assert [group.group for rollout in range(2) for group in trainer.next(rollout).groups()] == [0, 1, 2, 3]
    said = [record.getMessage() for record in caplog.records if "the log file cannot be written" in record.getMessage()]
    assert len(said) == 1
    assert "make room on its disk, or its directory writable path=/" in said[0]
    assert "outrider-owner-driver-" in said[0]
