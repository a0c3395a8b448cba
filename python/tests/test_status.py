"""`outrider status`: a run looked at from outside."""

import json
import secrets
import subprocess
import sys

import pytest
from test_life import engine

import outrider
from outrider._sidecar import find_binary


@pytest.fixture
def status():
    """Runs the command; gives exit status, output and errors."""

    def look(*words):
        done = subprocess.run([find_binary(), "status", *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    return look


def test_a_run_is_shown_by_name_as_a_screen_or_as_an_object(own, status):
    name = f"seen-{secrets.token_hex(4)}"
    run = own(name, count=8)
    with engine(run), outrider.Trainer(run, role="actor") as trainer:
        trainer.next(0)
        code, screen, said = status(name)
        assert (code, said) == (0, "")
        assert screen.startswith(name)
        assert "rollout 1 · version 0" in screen
        assert "2 acknowledged" in screen
        stats = run.stats()
        code, text, _ = status(name, "--json")
        (one,) = json.loads(text)
        assert (code, one["run"]) == (0, name)
        assert one["stats"]["next_rollout"] == stats.next_rollout == 1
        assert {m["role"] for m in one["stats"]["members"]} == {m.role for m in stats.members}
        assert {int(m["session"], 16) for m in one["stats"]["members"]} == {m.session for m in stats.members}


def test_a_watch_ends_with_its_run(own):
    name = f"watched-{secrets.token_hex(4)}"
    run = own(name)
    words = [find_binary(), "status", name, "--watch", "--every", "1ms"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watch:
        assert watch.stdout.readline().startswith(name)
        run.close()
        rest, said = watch.communicate()
        assert watch.returncode == 1
        assert f'no run "{name}"' in said, rest[-300:]


def test_the_package_brings_the_command():
    words = [sys.executable, "-m", "outrider", "status", "--help"]
    assert "Show the run named RUN" in subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_what_is_not_there_is_said_with_the_way_out(status):
    code, shown, said = status("nobody-has-this-name")
    assert (code, shown) == (1, "")
    assert 'no run "nobody-has-this-name"' in said
    assert "look on the host" in said
    assert status("one", "two")[0] == 2
