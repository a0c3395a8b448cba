"""Finished groups that outlive their worker, through the shim: the real sidecar, no Ray."""

import multiprocessing

from test_life import sample

import outrider

SPAWN = multiprocessing.get_context("spawn")


def finishes_two_groups(run, pipe, leaves):
    """In another process: generates two groups, then leaves in order or waits to be killed."""
    worker = outrider.Worker(run, slots=4, name="engine")
    works = worker.groups()
    for _ in range(2):
        work = next(works)
        work.complete([sample(work.prompt(slot)) for slot in range(2)])
    if leaves:
        worker.drain()
        worker.close()
    pipe.send("done")
    pipe.recv()


def train_without_a_worker(own, leaves):
    """What is trained, and the run's numbers after that, when the only worker is gone with two groups finished."""
    run = own(count=2, epochs=1)
    with outrider.Trainer(run) as trainer:
        here, there = SPAWN.Pipe()
        child = SPAWN.Process(target=finishes_two_groups, args=(run, there, leaves))
        child.start()
        here.recv()
        while run.stats().kept < 2:
            pass  # They are handed over a moment after they were finished.
        child.kill()
        child.join()
        while run.stats().workers:
            pass  # The sidecar of the dead process is about to be missed.
        batch = trainer.next(0)
        stats = run.stats()
        assert run.close().books.closed
        return batch.packed("tokens").tokens.tolist(), stats


def test_S10_11_what_a_killed_worker_had_finished_is_trained_and_not_generated_again(own):
    tokens, stats = train_without_a_worker(own, leaves=False)
    assert tokens == [0, 1, 0, 1, 2] * 2
    assert (stats.kept, stats.rescued, stats.requeued) == (2, 2, 0)


def test_S3_11_a_worker_that_drains_may_leave_before_its_groups_are_trained(own):
    tokens, stats = train_without_a_worker(own, leaves=True)
    assert tokens == [0, 1, 0, 1, 2] * 2
    assert (stats.kept, stats.rescued, stats.requeued) == (2, 2, 0)
