"""An owner that nobody brings back: its members need not look for it as long as for one that may come back."""

import multiprocessing
import os
import signal
from dataclasses import dataclass

import pytest
from conftest import rows

import outrider
from outrider.run import Run

SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Knows:
    """A directory that is asked only after the owner's end, and knows that it was the last."""

    hint: str

    def address(self):
        raise outrider.OwnerLost("outrider: the last owner has ended")

    def end(self):
        pass


def serve(pipe):
    """An owner's process: has a run until it is killed."""
    run = outrider.own("gone", source=outrider.table(rows()), group_size=2, batch_groups=2)
    pipe.send((run._key, run._locator.hint))
    pipe.recv()


@pytest.mark.parametrize("force", [False, True])
def test_a_close_fails_as_soon_as_the_directory_knows_that_the_owner_is_gone_for_good(force):
    pipe, there = SPAWN.Pipe()
    owner = SPAWN.Process(target=serve, args=(there,))
    owner.start()
    there.close()
    key, hint = pipe.recv()
    run = Run(key, Knows(hint))
    assert run.next_rollout == 0
    owner.kill()
    owner.join()
    with pytest.raises(outrider.OwnerLost, match="the last owner has ended"):
        run.close(force=force)
    run.detach()


@pytest.mark.parametrize("joined", [False, True])
def test_a_close_beside_an_owner_whose_sidecar_was_killed_says_so_at_once(joined):
    run = outrider.own("killed", source=outrider.table(rows()), group_size=2, batch_groups=2)
    if joined:
        assert run.next_rollout == 0
    os.kill(run._owner.sidecar.pid, signal.SIGKILL)
    run._owner.channel._reader.join()  # has heard of it
    for _ in range(2):
        with pytest.raises(outrider.Closed, match="ended with signal 9"):
            run.close(force=True)
    run.detach()
