"""What a user chooses about the group buffer, through the shim: the real sidecar, no Ray."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from test_life import engine

import outrider


def answer(work, tokens):
    samples = [outrider.Sample(np.arange(tokens), tokens - 1) for _ in range(2)]
    return work.complete(samples)


def test_S1_14_S4_11_a_group_that_is_too_stale_again_and_again_is_given_up_and_counted(own):
    policy = outrider.Policy(max_staleness=0, max_requeues=1)
    run = own(count=2, epochs=1, batch_groups=1, policy=policy)
    with ThreadPoolExecutor(1) as pool, outrider.Trainer(run) as trainer, outrider.Worker(run, slots=2) as worker:

        def update(version):
            run.update_weights(version, lambda _, members: worker.confirm(version), mode="in_flight")

        works = iter(worker.groups())
        work = next(works)
        taken = pool.submit(trainer.next, 0)
        seen = []
        for version in (1, 2):
            seen.append((work.prompt(0).group, work.prompt(0).attempt))
            update(version)
            answer(work, 100)
            work = next(works)
        seen.append((work.prompt(0).group, work.prompt(0).attempt))
        answer(work, 3)
        assert [group.group for group in taken.result().groups()] == [1]
        step = run.stats(step=True).step
        assert (step.consumed, step.evicted_stale, step.evicted_full, step.requeued) == (1, 2, 0, 2)
        assert run.stats(step=True).step.consumed == 0
        assert run.stats().step is None
        work = next(works)
        seen.append((work.prompt(0).group, work.prompt(0).attempt))
        taken = pool.submit(trainer.next, 1)
        update(3)
        answer(work, 100)
        with pytest.raises(outrider.EndOfRun):
            taken.result()
        assert seen == [(0, 1), (0, 2), (1, 1), (0, 3)]
        text = run.metrics()
    stats = run.close()
    assert stats.books.discarded["stale"].groups == 1
    assert stats.stale_requeues == (1, 0, 1)
    assert (sum(stats.sampled_tokens), sum(stats.trained_tokens)) == (4, 1)
    assert (stats.sampled_tokens[8], stats.trained_tokens[3]) == (3, 1)
    assert 'outrider_sampled_group_tokens_bucket{run="test",le="255"} 4' in text
    assert 'outrider_trained_group_tokens_count{run="test"} 1' in text
    assert 'outrider_stale_requeues_groups_total{run="test",times="2"} 1' in text


def test_S5_15_groups_leave_a_lease_and_others_come_or_none(own):
    run = own(count=20)
    with engine(run), run.take(0) as lease:
        first = [group.group for group in lease.groups]
        lease.discard(first[:1], "zero_std")
        refilled = [group.group for group in lease.groups]
        assert len(refilled) == 2
        assert first[0] not in refilled
        lease.discard(refilled[:1], "zero_std", refill=False)
        assert [group.group for group in lease.groups] == refilled[1:]
        assert lease.short
        with pytest.raises(outrider.Refused, match="let it be refilled, or roll it back"):
            lease.discard(refilled[1:], "zero_std", refill=False)
        assert run.stats().books.discarded["zero_std"].groups == 2
        lease.rollback("enough seen")
    run.close(force=True)


def test_S4_20_a_version_that_was_never_sent_is_wrong_data(own):
    run = own()
    with outrider.Worker(run, slots=2) as worker:
        work = next(iter(worker.groups()))
        samples = [outrider.Sample(np.arange(3), 2, versions=7) for _ in range(2)]
        with pytest.raises(
            outrider.DataError, match="names weight version 7, the newest that was announced or sent is 0"
        ):
            work.complete(samples)
    run.close(force=True)


def test_S4_17_an_eviction_has_a_receipt_and_who_gets_the_place_hears_that_its_group_is_kept(own):
    policy = outrider.Policy(full="evict")
    run = own(batch_groups=1, policy=policy, limits=outrider.Limits(executing=4, completed=2))
    with outrider.Worker(run, slots=2) as first, outrider.Worker(run, slots=2) as second:
        works = iter(first.groups())
        victim, kept = next(works), next(iter(second.groups()))
        assert answer(victim, 3)
        assert answer(next(works), 3)
        assert run.stats(step=True).step.evictions == ()
        assert answer(kept, 3)
        (one,) = run.stats(step=True).step.evictions
        assert (one.group, one.attempt, one.worker) == (victim.group, 1, victim.granted.worker)
        assert (one.reason, one.became, one.min_version, one.max_version) == ("full", "requeued", 0, 0)
        assert one.kept == kept.group
    run.close(force=True)
