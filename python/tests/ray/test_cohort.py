"""Several trainer ranks and roles as Ray actors."""

import actors
import pytest
import ray
import traces

import outrider

ROLES = {"actor": 2, "critic": 1}


@ray.remote(max_restarts=-1, num_cpus=0)
class Rank:
    """A rank whose weights are the number of the last rollout that it trained; they end with the process."""

    def __init__(self, run, role, rank, state_at=-1):
        self.trainer = outrider.Trainer(run, role=role, rank=rank, world_size=ROLES[role], state_at=state_at)

    def admit(self, publication):
        self.batch = self.trainer.admit(publication)
        return actors.pairs(self.batch)

    def back(self, rollout):
        self.trainer.restored(rollout)


@pytest.fixture
def ranks():
    made = []

    def make(run):
        made.extend(Rank.remote(run, role, rank) for role, size in ROLES.items() for rank in range(size))
        ray.get([rank.__ray_ready__.remote() for rank in made])
        return made

    yield make
    for rank in made:
        ray.kill(rank)


def admit(lease, ranks):
    """What each rank holds of a lease that is cut for two actors."""
    publication = lease.publish(shards=2, roles=ROLES)
    return ray.get([rank.admit.remote(publication) for rank in ranks])


def test_S6_05_S12_02_two_actors_and_a_critic_train_and_lose_a_rank(start, engine, ranks):
    run = start("cohort", count=8, batch_groups=4, epochs=None)
    worker = engine(run)
    serving = worker.serve.remote()
    cohort = ranks(run)
    with run.take(0) as lease:
        left, right, critic = admit(lease, cohort)
        assert [len(left), len(right)] == [2, 2]
        assert critic == left + right
        lease.commit()
    assert run.next_rollout == 1

    # A rank dies between its admission and the commit: its next life has other weights than the rest.
    lease = run.take(1)
    admit(lease, cohort)
    ray.kill(cohort[1])
    assert traces.until(lambda: run.stats().trainers == 2)
    with pytest.raises(outrider.CohortChanged, match="publish it again or roll it back"):
        lease.commit()
    lease.rollback("a rank is gone")
    with pytest.raises(ray.exceptions.RayActorError, match="load the same checkpoint in every rank"):
        ray.get(Rank.remote(run, "actor", 1).__ray_ready__.remote())

    # The others go back to its checkpoint in place, and the run goes back with them: all of it trains again.
    ray.get([rank.back.remote(-1) for rank in (cohort[0], cohort[2])])
    cohort[1] = Rank.remote(run, "actor", 1)
    ray.get(cohort[1].__ray_ready__.remote())
    assert run.stats().rewinds == 1
    with run.take(0) as lease:
        left, right, critic = admit(lease, cohort)
        assert critic == left + right
        lease.commit()
    stats = run.close(force=True)
    stats.books.check()
    assert stats.books.acknowledged.groups == 4
    ray.get(serving)


def test_S10_13_one_ranks_log_is_enough_after_owner_and_another_rank_were_killed(start, owner, engine, ranks):
    run = start("one_log", count=8, batch_groups=4)
    serving = engine(run).serve.remote()
    cohort = ranks(run)
    with run.take(0) as lease:
        trained = admit(lease, cohort)[2]
        lease.commit()
    life = run.stats().term
    ray.kill(cohort[1])
    actors.sigkill(owner(run))

    # The other ranks are not enough: what the killed one's log may say is waited for. It comes back with its weights.
    cohort[1] = Rank.remote(run, "actor", 1, state_at=0)
    stats = traces.until(lambda: (now := run.stats()).term > life and not now.recovering and now)
    assert (stats.next_rollout, stats.rewinds, stats.books.acknowledged.groups) == (1, 0, 4)
    with run.take(1) as lease:
        trained += admit(lease, cohort)[2]
        lease.commit()
    assert sorted(group for group, _ in trained) == list(range(8))
    run.close().books.check()
    ray.get(serving)
