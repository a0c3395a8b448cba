"""A small job that stops in the middle, with work, a lease and completed groups open: `driver.py WAY`."""

import sys
import threading

import actors
import ray

import outrider


def main(way):
    ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False)
    run = outrider.start("driver", source=outrider.table(actors.rows(8)), group_size=2, batch_groups=2)
    engine, trainer = actors.Engine.remote(run), actors.Trainer.remote(run, "checkpoint")
    ray.get(engine.hold.remote(6))
    ray.get(engine.complete.remote(4))
    ray.get(trainer.admit.remote(run.take(0).publish()))
    print("ready", flush=True)
    sys.stdin.readline()  # the test looks around
    if way == "returns":
        return
    if way == "raises":
        raise RuntimeError("as told")
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
