"""Whatever ends an actor: nothing of it is left, and its groups go elsewhere."""

import os
import signal

import actors
import pytest
import ray
import traces

import outrider


def sigkill(actor, pid):
    os.kill(pid, signal.SIGKILL)


WAYS = {
    "ray_kill": lambda actor, pid: ray.kill(actor),
    "sigkill": sigkill,
    "sigterm": lambda actor, pid: os.kill(pid, signal.SIGTERM),
    "segfault": lambda actor, pid: actor.segfault.remote(),
    "exit_actor": lambda actor, pid: actor.leave.remote(),
    "out_of_scope": lambda actor, pid: None,
}


@pytest.mark.parametrize("way", WAYS)
def test_L_02_nothing_of_an_ended_engine_is_left_and_its_groups_go_to_another(start, trainer, engine, cluster, way):
    run = start(f"ends-{way}", count=4)
    lost = actors.Engine.options(max_restarts=0).remote(run)
    ray.get(lost.hold.remote(4))
    assert ray.get(lost.complete.remote(2)) == [True, True]
    pid, sidecar = ray.get(lost.processes.remote())
    held = traces.of([pid, sidecar], cluster)
    assert held.sockets
    assert held.memory  # the two finished groups are nowhere else
    assert held.left()

    WAYS[way](lost, pid)
    del lost
    traces.assert_gone(held, [pid])

    second, learner = engine(run), trainer(run)
    serving = second.serve.remote()
    trained = [pair for rollout in range(2) for pair in ray.get(learner.next.remote(rollout))]
    assert sorted(trained) == [(group, 2) for group in range(4)]
    stats = run.close()
    stats.books.check()
    assert stats.books.acknowledged.groups == 4
    ray.get(serving)


def test_L_02_a_killed_rank_leaves_nothing_and_its_open_lease_is_admitted_by_the_next_life(
    start, trainer, engine, cluster
):
    run = start("rank", count=2)
    serving = engine(run).serve.remote()
    rank = trainer(run)
    lease = run.take(0)
    assert ray.get(rank.admit.remote(lease.publish())) == [(0, 1), (1, 1)]
    pid, sidecar = ray.get(rank.processes.remote())
    held = traces.of([pid, sidecar], cluster)
    assert held.sockets

    os.kill(pid, signal.SIGKILL)
    traces.assert_gone(held, [pid])

    ray.get(rank.processes.remote())  # its next life is there, and holds nothing yet
    with pytest.raises(outrider.Refused):
        lease.commit()
    assert ray.get(rank.admit.remote(lease.publish())) == [(0, 1), (1, 1)]
    lease.commit()
    stats = run.close()
    assert stats.books.acknowledged.groups == 2
    ray.get(serving)
