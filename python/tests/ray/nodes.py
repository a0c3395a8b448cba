"""A job over several hosts, run on the first: two engines on hosts of their own, the trainer beside the driver.

`nodes.py GCS ADDRESS [OWNER]`; OWNER is the address of the host that the owner's actor begins on, instead of the driver's.
"""

import json
import sys

import actors
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import outrider
from outrider import _ray

GROUPS = 16


def start(owner):
    """A run whose owner begins on the host of that address, and the address where it is."""
    if owner is not None:
        node = next(node["NodeID"] for node in ray.nodes() if node["NodeManagerAddress"] == owner)
        _ray.this_node = lambda: NodeAffinitySchedulingStrategy(node, soft=True)
    limits = outrider.Limits(executing=2 * GROUPS, retained=GROUPS, completed=GROUPS // 2)
    run = outrider.start(
        "nodes", source=outrider.table(actors.rows(GROUPS), epochs=1), group_size=2, batch_groups=2, limits=limits
    )
    where = ray.get_actor("outrider:nodes").__ray_call__.remote(lambda self: ray.util.get_node_ip_address())
    return run, ray.get(where)


def main(gcs, address, owner=None):
    ray.init(address=gcs, _node_ip_address=address, log_to_driver=False)
    run, where = start(owner)
    trainer = actors.Trainer.options(resources={"host1": 1}).remote(run, "checkpoint")
    stays, ends = (actors.Engine.options(resources={host: 1}).remote(run, slots=8) for host in ("host2", "host3"))
    held = [{group for _, group, *_ in ray.get(engine.hold.remote(4))} for engine in (stays, ends)]
    for engine in (stays, ends):
        assert ray.get(engine.complete.remote(1)) == [True]
    first = ray.get(trainer.next.remote(0))
    crossed = [sum(group in groups for group, _ in first) for groups in held]
    assert ray.get(stays.complete.remote(1)) == ray.get(ends.complete.remote(1)) == [True]  # finished, and not trained
    print("ready", crossed, flush=True)
    sys.stdin.readline()  # the host of one engine is lost
    ray.get(stays.complete.remote(2))
    stays.serve.remote()
    trained = first + [pair for rollout in range(1, GROUPS // 2) for pair in ray.get(trainer.next.remote(rollout))]
    stats = run.close()
    stats.books.check()
    groups, again = sorted(group for group, _ in trained), [group for group, attempt in trained if attempt > 1]
    found = {"groups": groups, "again": again, "held_there": sorted(held[1]), "owner": where, "lives": stats.term + 1}
    print("trained", json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
