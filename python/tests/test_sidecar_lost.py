"""A trainer's process that outlives its sidecar, with a real owner and a real worker in processes of their own."""

import multiprocessing
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import rows
from test_ranks import generate

import outrider
from outrider import _wire_pb2 as wire
from outrider._configure import configure
from outrider._key import Key
from outrider._log_copy import LogCopy
from outrider.run import Run
from outrider.start import own_as

SPAWN = multiprocessing.get_context("spawn")
ID, TOKEN = "ab" * 16, "cd" * 16


@dataclass(frozen=True)
class Directory:
    """Finds the owner as Ray's name directory would: where it said last that it is."""

    path: str

    @property
    def hint(self):
        return self.address()

    def address(self):
        return Path(self.path).read_text()

    def end(self):
        pass


def serve(directory, recover, pipe):
    """The owner's process: has the run until it is killed."""
    source = outrider.table(rows(16))
    policy = outrider.Policy(join_window=0.3)
    config = configure(name="test", source=source, group_size=2, batch_groups=2, policy=policy)
    run = own_as(Key("test", ID, TOKEN), source, config, None, recover)
    Path(directory.path).write_text(run._locator.address())
    pipe.send(None)
    pipe.recv()


class Owner:
    """The owner's lives, one after the other."""

    def __init__(self, directory):
        self.directory = directory
        self.start(recover=False)

    def start(self, recover):
        pipe, there = SPAWN.Pipe()
        self.process = SPAWN.Process(target=serve, args=(self.directory, recover, there))
        self.process.start()
        there.close()
        self.pipe = pipe
        pipe.recv()

    def kill(self):
        self.process.kill()
        self.process.join()

    def restart(self):
        self.kill()
        self.start(recover=True)


@pytest.fixture
def owner(tmp_path):
    lives = Owner(Directory(str(tmp_path / "owner")))
    yield lives
    lives.kill()


@pytest.fixture
def run(owner):
    """The run, with a worker that runs its groups."""
    run = Run(Key("test", ID, TOKEN), owner.directory)
    worker = SPAWN.Process(target=generate, args=(run,))
    worker.start()
    yield run
    run.detach()
    worker.kill()
    worker.join()


def kill_sidecar(run, trainer):
    os.kill(trainer._member.attachment.sidecar.pid, signal.SIGKILL)
    with pytest.raises(outrider.Closed, match=r"ended with signal 9.*make a new Worker, Trainer or Run"):
        trainer.next(99)
    run.detach()  # a call of it joins again


def groups(batch):
    return [group.group for group in batch.groups()]


def test_S12_16_a_process_brings_its_copy_of_the_log_when_its_sidecar_and_the_owner_are_lost(owner, run):
    trainer = outrider.Trainer(run)
    seen = [group for rollout in range(2) for group in groups(trainer.next(rollout))]
    for rollout in range(2, 4):  # the second time the copy is of the new sidecar's log
        kill_sidecar(run, trainer)
        owner.restart()
        trainer = outrider.Trainer(run, state_at=rollout - 1)
        seen += groups(trainer.next(rollout))
        assert run.stats().rewinds == 0
    assert len(set(seen)) == 8
    assert run.stats().books.acknowledged.groups == 8
    trainer.close()


def test_S12_16_the_weights_are_what_the_process_says_that_they_are(owner, run):
    trainer = outrider.Trainer(run)
    trainer.next(0)
    undone = groups(trainer.next(1))
    kill_sidecar(run, trainer)
    owner.restart()
    with outrider.Trainer(run, state_at=0) as trainer:  # rollout 1 was taken, and its step never made
        assert run.stats().rewinds == 1
        assert run.next_rollout == 1
        seen = {group for rollout in range(1, 4) for group in groups(trainer.next(rollout))}
        assert set(undone) <= seen


def test_S12_16_weights_that_the_copy_does_not_reach_are_refused(owner, run):
    trainer = outrider.Trainer(run)
    trainer.next(0)
    kill_sidecar(run, trainer)
    owner.restart()
    with pytest.raises(outrider.ConfigError, match=r"weights of rollout 5, the ledger that was found ends at 0"):
        outrider.Trainer(run, state_at=5)
    with outrider.Trainer(run, state_at=0) as trainer:
        trainer.next(1)
    # A rank that has left in order keeps nothing: what it says later is a checkpoint's word.
    assert (ID, "trainer", 0) not in outrider._log_copy._copies


def test_S12_16_the_copy_follows_an_entry_of_a_later_life_of_the_owner():
    copy = LogCopy.of("of no run", "trainer", 0)

    def append(index, data):
        copy.take(wire.Frame(append=wire.Append(entry=wire.Entry(index=index, data=data))))

    def brought():
        role = wire.TrainerRole()
        copy.bring(role)
        return role.copied, role.base, [(entry.index, entry.data) for entry in role.log]

    append(4, b"before there is a base")
    assert brought() == (False, b"", [])
    copy.take(wire.Frame(set_base=wire.SetBase(index=4, base=b"base", log=[wire.Entry(index=5, data=b"first")])))
    append(6, b"first")
    append(7, b"first")
    assert brought() == (True, b"base", [(5, b"first"), (6, b"first"), (7, b"first")])
    append(6, b"second")  # What stood there and after it was never answered.
    assert brought() == (True, b"base", [(5, b"first"), (6, b"second")])
    copy.forget()
    assert LogCopy.of("of no run", "trainer", 0) is not copy
    LogCopy.of("of no run", "trainer", 0).forget()
