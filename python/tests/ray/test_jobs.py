"""Whole jobs, each with a Ray of its own: how they end, and what is left."""

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import traces

HERE = Path(__file__).parent
BOX = ["unshare", "-p", "-m", "-n", "-f", "--mount-proc", "--kill-child"]


@pytest.fixture
def short():
    """A directory for Ray whose path is short enough for the sockets in it."""
    with tempfile.TemporaryDirectory(prefix="or-", dir="/tmp", ignore_cleanup_errors=True) as directory:
        yield directory


@pytest.fixture
def job(tmp_path, short):
    """Starts a driver with a mark of its own; gives its process and the mark."""
    started = []

    def start(*command, **environment):
        mark = secrets.token_hex(8)
        inherited = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
        process = subprocess.Popen(
            [sys.executable, *map(str, command)],
            env={
                **inherited,
                traces.MARK: mark,
                "OUT": str(tmp_path),
                "RAY_TMPDIR": short,
                "TMPDIR": short,
                "PYTHONPATH": str(HERE),
                **environment,
            },
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process, mark

    yield start
    for process in started:
        process.kill()
        process.wait()


def read_until(process, line):
    """Reads what a driver says up to a line that begins so; gives the rest of it."""
    said = []
    for text in process.stdout:
        said.append(text)
        if text.startswith(line):
            return text.removeprefix(line).strip()
    pytest.fail(f"the driver ended without {line!r}:\n{''.join(said)}")


def everything(mark):
    """Traces of a job's sidecars, and the processes that those were made for."""
    pids = traces.sidecars(mark)
    return traces.of(pids, mark), {traces.parent(pid) for pid in pids}


@pytest.mark.parametrize("way", ["returns", "raises", "interrupted", "terminated", "killed"])
def test_L_02_nothing_is_left_however_a_driver_ends(job, way):
    process, mark = job(HERE / "driver.py", way)
    read_until(process, "ready")
    held, parents = everything(mark)
    assert len(held.pids) == 4  # owner, engine, trainer, driver
    assert len(held.sockets) == 5  # one each, and the owner's for members of its host
    assert held.memory
    signals = {"interrupted": signal.SIGINT, "terminated": signal.SIGTERM, "killed": signal.SIGKILL}
    if way in signals:
        process.send_signal(signals[way])
    process.stdin.close()
    code = process.wait()
    assert (code == 0) == (way == "returns")
    traces.assert_gone(held, parents)
    assert traces.sidecars(mark) == []


TRAINED = str([(group, 1) for group in range(8)])  # by driver.py, when nothing happens to it


def test_L_07_two_runs_of_one_name_on_one_node_never_see_each_other(job):
    first, mark = job(HERE / "driver.py", "trains", RAY_AUTH_MODE="disabled")
    address = read_until(first, "ready")
    held, _ = everything(mark)
    second, other = job(HERE / "driver.py", "waits", RAY_AUTH_MODE="disabled", ADDRESS=address)
    read_until(second, "ready")
    others, parents = everything(other)
    assert len(held.pids) == len(others.pids) == 4
    assert held.sockets.isdisjoint(others.sockets)
    assert held.memory.isdisjoint(others.memory)
    assert held.memory
    assert others.memory

    second.kill()
    traces.assert_gone(others, parents)
    assert all(traces.alive(pid) for pid in held.pids)
    first.stdin.close()
    assert read_until(first, "trained") == TRAINED
    assert first.wait() == 0


def test_L_09_sidecars_ignore_ctrl_c_and_leave_when_their_actors_do(job):
    process, mark = job(HERE / "driver.py", "trains")
    read_until(process, "ready")
    held, parents = everything(mark)
    assert len(held.pids) == 4
    for pid in held.pids:
        os.kill(pid, signal.SIGINT)
    process.stdin.close()
    assert read_until(process, "trained") == TRAINED
    assert process.wait() == 0
    traces.assert_gone(held, parents)


def test_L_02_nothing_is_left_of_the_main_job_when_its_driver_is_killed(job, spelling):
    process, mark = job(spelling / "job.py", STEPS="300")
    read_until(process, "step 20/300")
    held, parents = everything(mark)
    assert len(held.pids) == 5
    assert held.memory
    process.kill()
    traces.assert_gone(held, parents)
    assert traces.sidecars(mark) == []


def in_a_box():
    """Whether this user may make namespaces of its own here; else why not."""
    try:
        done = subprocess.run([*BOX, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        return str(error)
    return done.stderr.strip() if done.returncode else None


@pytest.mark.skipif(in_a_box() is not None, reason=f"no namespaces of one's own here: {in_a_box()}")
def test_L_05_a_submitted_job_ends_as_it_should_and_leaves_nothing(tmp_path, short, spelling):
    """The box has its own processes and sockets, so whatever is found there after a job is that job's."""
    done = subprocess.run(
        [*BOX, sys.executable, str(HERE / "submit.py"), str(spelling), str(tmp_path), short],
        env={**os.environ, "PYTHONPATH": str(HERE), "TMPDIR": short},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    found = json.loads((tmp_path / "found.json").read_text())
    assert [job["status"] for job in found] == ["SUCCEEDED", "FAILED", "STOPPED"], done.stdout
    assert all(job["seen"] > 0 for job in found)  # there were sidecars while it ran
    assert [job["left"] for job in found] == [[], [], []]
    assert "each once in the final weights" in (tmp_path / "out" / "summary.txt").read_text()
    assert "RuntimeError: as told" in done.stdout
