"""How large a batch is, what ends one, and in which order batches are committed."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from test_life import engine

import outrider


def of(tokens):
    """Makes samples of so many tokens."""
    return lambda prompt: outrider.Sample(np.arange(tokens), 1)


@pytest.mark.parametrize(
    ("size", "groups"),
    [
        ({"batch_groups": None, "batch_samples": 5}, 3),
        ({"batch_groups": 9, "batch_tokens": 50}, 3),
        ({"batch_groups": 2, "batch_tokens": 50}, 2),
    ],
)
def test_S4_21_a_batch_has_as_few_groups_as_reach_its_size(own, size, groups):
    run = own(count=40, **size)
    with engine(run, of(10)), run.take(0) as lease:
        assert len(lease.groups) == groups
        assert (lease.samples, lease.tokens) == (2 * groups, 20 * groups)
        assert lease.short == (groups == 2), "two groups at most have fewer tokens"
        lease.rollback("seen")
    run.close(force=True)


def test_S4_21_sizes_that_cannot_work_are_refused(own):
    with pytest.raises(outrider.ConfigError, match="batch_groups is missing"):
        own(batch_groups=None, batch_tokens=50)
    with pytest.raises(outrider.ConfigError, match="batch_samples=5 and batch_tokens=5: a batch has one size"):
        own(batch_groups=4, batch_samples=5, batch_tokens=5)
    with pytest.raises(outrider.ConfigError, match="raise it to at least 3"):
        own(batch_groups=2, batch_samples=5)


def test_S1_15_the_last_batch_is_filled_from_the_epoch_that_would_follow(own):
    run = own(count=3, epochs=1, policy=outrider.Policy(last_batch="next_epoch"))
    with outrider.Trainer(run) as trainer, engine(run):
        trained = [[group.group for group in trainer.next(rollout).groups()] for rollout in range(2)]
        assert trained == [[0, 1], [2, 3]]
        with pytest.raises(outrider.EndOfRun):
            trainer.next(2)
        state = run.state(1)
    run.close()
    with pytest.raises(outrider.ConfigError, match="raise epochs"):
        own(count=3, epochs=1, state=state)
    assert own(count=3, epochs=1, policy=outrider.Policy(last_batch="next_epoch"), state=state).next_rollout == 2


@pytest.mark.parametrize("order", ["refuse", "wait"])
def test_S5_13_a_commit_out_of_order_is_refused_or_waits(own, order):
    run = own(count=20, policy=outrider.Policy(commit_order=order))
    with ThreadPoolExecutor(1) as pool, outrider.Trainer(run) as trainer, engine(run):
        first, second = run.take(0), run.take(1)
        for lease in (first, second):
            trainer.admit(lease.publish())
        early = pool.submit(second.commit)
        if order == "refuse":
            with pytest.raises(outrider.Conflict, match="rollout 1 cannot be committed before rollout 0"):
                early.result()
            first.commit()
            second.commit()
        else:
            first.commit()
            early.result()
        assert [lease.status() for lease in (first, second)] == ["committed"] * 2
    run.close()


def test_S5_15_a_lease_that_loses_its_last_group_is_rolled_back(own):
    run = own(count=2, epochs=1)
    with engine(run):
        lease = run.take(0)
        with pytest.raises(outrider.Stale, match="every group of it was discarded, and the source has no other"):
            lease.discard([group.group for group in lease.groups], "zero_std")
        assert lease.status() == "rolled_back"
        with pytest.raises(outrider.EndOfRun):
            run.take(0)
    run.close()


def test_S5_09_a_lease_older_than_the_history_is_unknown(own):
    run = own(count=1, group_size=1, batch_groups=1)
    with engine(run):
        old = run.take(0)
        old.rollback("again")
        for _ in range(1023):
            run.take(0).rollback("again")
        assert old.status() == "rolled_back"
        run.take(0).rollback("again")
        for ask in (old.status, old.commit, lambda: old.rollback("late")):
            with pytest.raises(outrider.Stale, match="was never given, or is older than the retained history of 1024"):
                ask()
    run.close(force=True)
