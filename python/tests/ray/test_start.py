"""A sidecar that starts, or does not, with its actor."""

import os
import stat
from pathlib import Path

import pytest
import ray
import traces

import outrider


@ray.remote(num_cpus=0)
class Asks:
    """Asks its sidecar before its constructor has returned."""

    def __init__(self, run):
        worker = outrider.Worker(run, name="asks")
        self.seen = [member.name for member in run.stats().members if member.role == "worker"]
        self.pids = os.getpid(), worker._member.attachment.sidecar.pid
        self.worker = worker

    def answers(self):
        return self.seen, self.pids


def test_S1_23_the_owner_of_a_small_source_needs_no_object_of_the_drivers(start):
    start("small")
    logs = Path(ray._private.worker._global_node.get_logs_dir_path())
    [log] = logs.glob(f"python-core-driver-*_{os.getpid()}.log")
    assert "constructor arguments in the object store" not in log.read_text()


@pytest.fixture
def broken(tmp_path):
    """A binary that says why it cannot start, and ends."""
    path = tmp_path / "outrider-broken"
    path.write_text("#!/bin/sh\necho first line of many >&2\necho no such thing as a moon >&2\nexit 5\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_L_01_the_sidecar_answers_before_the_constructor_returns(start):
    run = start("answers")
    seen, (pid, sidecar) = ray.get(Asks.remote(run).answers.remote())
    assert seen == ["asks"]
    assert traces.parent(sidecar) == pid


def test_L_01_a_startup_failure_raises_in_the_constructor_with_the_last_lines(start, broken):
    run = start("broken")
    actor = Asks.options(runtime_env={"env_vars": {"OUTRIDER_BINARY": broken}}).remote(run)
    with pytest.raises(ray.exceptions.RayActorError) as caught:
        ray.get(actor.answers.remote())
    message = str(caught.value)
    assert "StartError" in message
    assert "first line of many\nno such thing as a moon" in message
    assert "exit code 5 (state refused)" in message
    assert broken in message
    assert run.stats().workers == 0


def test_L_01_an_owner_that_cannot_start_raises_in_start_and_leaves_its_name_free(start, monkeypatch, broken, cluster):
    before = set(traces.sidecars(cluster))
    with monkeypatch.context() as patch:
        patch.setattr("outrider._owner.OwnerActor.__init__", _with_binary(broken))
        with pytest.raises(outrider.StartError, match="no such thing as a moon"):
            start("twice")
    assert start("twice").next_rollout == 0
    assert len(set(traces.sidecars(cluster)) - before) == 2  # the owner's and this process's


def _with_binary(path):
    """The owner's constructor in a process where the binary is another one."""
    from outrider._owner import OwnerActor

    original = OwnerActor.__init__

    def constructor(self, *arguments):
        os.environ["OUTRIDER_BINARY"] = path
        original(self, *arguments)

    return constructor
