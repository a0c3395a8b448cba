"""Ways to a run on a real Ray: a manager that owns one itself, and finding one by its name."""

import os

import actors
import pytest
import ray
import traces

import outrider


@ray.remote(num_cpus=0)
class Manager:
    """A job's rollout manager, which has the owner in its own process."""

    def __init__(self):
        self.run = outrider.own(
            "managed", source=outrider.table(actors.rows(8), epochs=1), group_size=2, batch_groups=2
        )

    def given(self):
        return self.run

    def close(self):
        return self.run.close()


@ray.remote(num_cpus=0)
class Finds:
    """Knows a run's name alone."""

    def __init__(self, name):
        self.run = outrider.connect(name)

    def looks(self):
        return self.run.id, self.run.stats().workers


def test_a_run_that_an_actor_owns_is_trained_by_others(cluster, trainer, engine):
    manager = Manager.remote()
    run = ray.get(manager.given.remote())
    serving, learner = engine(run).serve.remote(), trainer(run)
    trained = [pair for rollout in range(4) for pair in ray.get(learner.next.remote(rollout))]
    assert sorted(trained) == [(group, 1) for group in range(8)]
    stats = ray.get(manager.close.remote())
    stats.books.check()
    assert stats.books.acknowledged.groups == 8
    ray.get(serving)
    run.detach()


def test_a_run_is_found_by_its_name_until_it_is_closed(start, trainer, engine):
    run = start("found", count=2)
    found = outrider.connect("found")
    serving, learner = engine(found).serve.remote(), trainer(found)
    assert ray.get(Finds.remote("found").looks.remote()) == (run.id, 1)
    assert ray.get(learner.next.remote(0)) == [(0, 1), (1, 1)]
    assert found.close().books.acknowledged.groups == 2
    ray.get(serving)
    with pytest.raises(outrider.OwnerLost, match="no run 'found' in namespace"):
        outrider.connect("found")
    assert start("found").id != run.id


def test_a_run_whose_owner_was_ended_for_good_is_not_waited_for(start, owner):
    run = start("ended")
    assert run.next_rollout == 0
    pid = ray.get(owner(run).__ray_call__.remote(lambda self: os.getpid()))
    ray.kill(owner(run), no_restart=True)
    assert traces.until(lambda: not traces.alive(pid))  # until then it may still answer
    with pytest.raises(outrider.OwnerLost, match="Ray does not restart it"):
        run.close(force=True)
    run.detach()
