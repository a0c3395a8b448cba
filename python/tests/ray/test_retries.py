"""Calls that Ray makes again: in the same process after an exception, in the actor's next life after a crash."""

import actors
import pytest
import ray

import outrider


@ray.remote(max_restarts=-1, num_cpus=0)
class Controller:
    """Takes and commits; the trainer rank is an actor of its own."""

    def __init__(self, run, rank):
        self.run, self.rank = run, rank
        self.places = ["taken", "admitted", "committed", "committed again"]
        self.admissions = []

    @ray.method(max_task_retries=-1, retry_exceptions=[ConnectionError])
    def step_that_raises(self, rollout):
        """A step that is broken off one place later with every try, and is repeated from its start as far as its lease is open."""

        def at(place):
            if self.places and self.places[0] == place:
                raise ConnectionError(self.places.pop(0))

        if "committed" in self.places:
            self.lease = self.run.take(rollout)
            self.admissions.append(self.lease.admission)
            at("taken")
            ray.get(self.rank.admit.remote(self.lease.publish()))
            at("admitted")
        self.lease.commit()
        at("committed")
        at("committed again")
        return self.admissions, self.lease.status()

    @ray.method(max_task_retries=-1)
    def step_that_dies(self, rollout, point, path):
        """A step whose process ends at one place, once."""

        def at(place):
            if place == point:
                actors.die_once(path)

        if self.run.next_rollout > rollout:
            return "committed before"
        lease = self.run.take(rollout)
        at("taken")
        ray.get(self.rank.admit.remote(lease.publish()))
        at("admitted")
        lease.commit()
        at("committed")
        return "committed"


def test_L_10_a_step_repeated_in_the_same_process_has_one_lease_and_one_commit(start, trainer, engine):
    run = start("raises", count=4)
    serving, rank = engine(run).serve.remote(), trainer(run)
    controller = Controller.remote(run, rank)
    admissions, status = ray.get(controller.step_that_raises.remote(0))
    assert len(admissions) == 3
    assert len(set(admissions)) == 1
    assert status == "committed"
    stats = run.stats()
    assert (stats.next_rollout, stats.books.acknowledged.groups, stats.requeued) == (1, 2, 0)
    ray.kill(controller)
    run.close(force=True).books.check()
    ray.get(serving)


@pytest.mark.parametrize("point", ["taken", "admitted", "committed"])
def test_L_10_a_step_repeated_by_the_next_life_has_one_effect(start, trainer, engine, tmp_path, point):
    run = start(f"dies-{point}", count=4)
    serving, rank = engine(run).serve.remote(), trainer(run)
    controller = Controller.remote(run, rank)
    for rollout in range(2):
        told = ray.get(controller.step_that_dies.remote(rollout, point, str(tmp_path / f"died-{rollout}")))
        assert (tmp_path / f"died-{rollout}").exists()
        assert told == ("committed before" if point == "committed" else "committed")
        assert run.stats().books.acknowledged.groups == 2 * (rollout + 1)
    with pytest.raises(outrider.EndOfRun):
        run.take(2)
    stats = run.close()
    stats.books.check()
    assert stats.books.acknowledged.groups == 4
    ray.kill(controller)
    ray.get(serving)


def test_L_10_a_confirmation_repeated_by_the_next_life_confirms_that_life(start, trainer, engine, tmp_path):
    run = start("confirms", count=2)
    workers = [engine(run)]  # the only one: the update depends on its next life

    def send(version, members):
        ray.get([actor.load_and_die.remote(version, str(tmp_path / "died")) for actor in members.actors])

    report = run.update_weights(1, send, mode="in_flight")
    assert (tmp_path / "died").exists()  # it died after its confirmation, and Ray called its next life
    assert len(report.confirmed) == 1
    sessions = {ray.get(worker.session.remote()) for worker in workers}
    ray.get([worker.load.remote(1) for worker in workers])  # once more
    members = [member for member in run.stats().members if member.role == "worker"]
    assert {member.session for member in members} == sessions
    assert [(member.confirmed, member.confirmed_version) for member in members] == [(True, 1)]
    serving = [worker.serve.remote() for worker in workers]
    assert [group for group, _ in ray.get(trainer(run).next.remote(0))] == [0, 1]
    stats = run.close()
    assert (stats.announced_version, stats.books.acknowledged.groups) == (1, 2)
    ray.get(serving)
