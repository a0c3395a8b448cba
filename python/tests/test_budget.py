"""The byte budget of a host, through the shim and a real sidecar."""

import os
import threading

import numpy as np
import pytest

import outrider
from outrider import _report


def big(prompt, size=12_500):
    """A sample of about 50 KB."""
    return outrider.Sample(np.full(size, prompt.group, np.int32), 1, reward=1.0)


def complete_all(worker, done=None):
    """Every group in a thread of its own, as an engine that runs them at once."""

    def complete(work):
        work.complete([big(work.prompt(slot)) for slot in range(worker.group_size)])
        if done is not None:
            done.append(work.group)

    def run():
        for work in worker.groups():
            threading.Thread(target=complete, args=(work,), daemon=True).start()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def until(run, condition):
    while not condition(stats := run.stats()):
        pass
    return stats


def test_S10_07_producers_wait_for_bytes_and_the_trainer_goes_on(own):
    run = own(count=8, batch_groups=2, limits=outrider.Limits(bytes="350KB"))
    worker = outrider.Worker(run, slots=8)
    thread = complete_all(worker)
    # Four groups of 100 KB were dispatched before anybody knew how large a group is: three fit.
    full = until(run, lambda stats: stats.waiting_for_bytes >= 1 and stats.completed.used >= 3)
    assert full.bytes.limit == 350_000
    assert 300_000 < full.bytes.used <= 350_000
    with outrider.Trainer(run) as trainer:
        for rollout in range(6):
            batch = trainer.next(rollout)
            assert [int(group.tokens[0]) for group in batch.groups()] == [group.group for group in batch.groups()]
            assert run.stats().bytes.used <= 350_000
    stats = run.stats()
    assert stats.books.acknowledged.groups == 12
    assert stats.overdrawn == 0
    worker.close()
    thread.join()


def test_S3_19_two_workers_share_the_budget_of_their_host(own):
    run = own(count=8, batch_groups=2, limits=outrider.Limits(bytes="350KB", executing=8, completed=8, retained=8))
    workers = [outrider.Worker(run, slots=4) for _ in range(2)]
    threads = [complete_all(worker) for worker in workers]
    # Three fit. Whether a fourth waits or was never dispatched depends on which worker asks first.
    full = until(
        run, lambda stats: stats.completed.used >= 3 and (stats.waiting_for_bytes > 0 or stats.executing.used == 0)
    )
    assert full.completed.used == 3
    assert 300_000 < full.bytes.used <= 350_000
    with outrider.Trainer(run) as trainer:
        trainer.next(0)
        trainer.next(1)
        assert run.stats().bytes.used <= 350_000
    for worker, thread in zip(workers, threads, strict=True):
        worker.close()
        thread.join()


def test_S3_18_a_batch_larger_than_the_budget_is_trained_all_the_same(own, caplog):
    run = own(count=8, batch_groups=4, limits=outrider.Limits(bytes="350KB"))
    worker = outrider.Worker(run, slots=8)
    thread = complete_all(worker)
    until(run, lambda stats: stats.waiting_for_bytes >= 1 and stats.completed.used >= 3)
    with outrider.Trainer(run) as trainer:
        for rollout in range(3):
            assert trainer.next(rollout).num_rows == 8
    assert run.stats().overdrawn >= 3
    worker.close()
    thread.join()
    assert sum("bytes overdrawn" in record.message for record in caplog.records) == 1


def test_S3_18_a_group_above_the_whole_budget_is_refused_before_it_is_written(own, monkeypatch):
    def never(*_args):
        raise AssertionError("written")

    monkeypatch.setattr(_report, "write_stream", never)
    run = own(count=8, policy=outrider.Policy(max_failed=1.0), limits=outrider.Limits(bytes="90KB"))
    with outrider.Worker(run, slots=2) as worker:
        work = next(worker.groups())
        wrong = r"group 0 is 1\d+ bytes, the whole budget of host .* is bytes=90000; raise limits.bytes to at least 1"
        with pytest.raises(outrider.DataError, match=wrong):
            work.complete([big(work.prompt(slot)) for slot in range(2)])
        again = next(worker.groups())  # The execution has ended as the data's fault.
        assert (again.group, again.attempt) == (0, 2)


def test_S10_07_the_budget_that_nobody_gave_is_half_of_the_memory(own):
    run = own()
    with outrider.Worker(run, slots=2):
        limit = run.stats().bytes.limit
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")  # A container may have less.
    assert 0 < limit <= memory // 2
