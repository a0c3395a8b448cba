"""The whole job on a real Ray, shortened; what it proves about itself is its exit code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lineage
from words import PROMPTS

JOB = Path(__file__).with_name("job.py")


@pytest.fixture
def job(tmp_path):
    def run(**environment: str) -> tuple[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
        done = subprocess.run(
            [sys.executable, str(JOB)],
            env={**inherited, "OUT": str(tmp_path), **environment},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        assert (tmp_path / "reward.png").stat().st_size > 0
        return done.stdout, (tmp_path / "summary.txt").read_text()

    return run


def test_S8_02_S9_05_the_books_close_and_an_update_goes_forward_without_an_engine(job, tmp_path):
    said, summary = job(STEPS="30")
    assert "goes on without engine-0" in said
    assert "UpdateFailed" in said  # and the one with restore= went back
    assert "480 groups, each once in the final weights" in summary
    past = lineage.follow(lineage.read((tmp_path / "lineage.jsonl").read_text()))
    assert len(past.rollouts) == 30
    assert len(past.thrown_away) == 1


def test_S10_01_S10_02_S10_03_S12_02_every_actor_is_killed_and_no_group_is_lost_or_trained_twice(job, tmp_path):
    said, summary = job(STEPS="60", FAULTS="1")
    for victim in ("engine", "trainer", "owner"):
        assert f"SIGKILL of the {victim} actor" in said
    assert "960 groups, each once in the final weights" in summary
    past = lineage.follow(lineage.read((tmp_path / "lineage.jsonl").read_text()))
    assert len(past.rollouts) == 60
    assert len(past.thrown_away) > 1


def test_S1_21_without_leases_the_same_faults_cost_groups(job, tmp_path):
    _, summary = job(STEPS="60", FAULTS="1", OWNERSHIP="none")
    past = lineage.follow(lineage.read((tmp_path / "lineage.jsonl").read_text()))
    account = lineage.account(past, PROMPTS)
    assert account.twice or account.thrown_away or account.absent
    assert f"trained twice    {len(account.twice)}" in summary


def test_S12_09_the_whole_job_is_killed_and_resumed_to_the_same_weights(tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            JOB.with_name("resume.py"),
            *["--kills", "2", "--words", "160", "--epochs", "2"],
            "--out",
            tmp_path / "out",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "kill 2: " in done.stdout
    assert "320 groups, each once in the final weights" in done.stdout
    assert "2 of 160 groups, each group once" in done.stdout
