"""A small job that stops in the middle, with work, a lease and completed groups open: `driver.py WAY`.

With ADDRESS it joins that Ray, else it has one of its own. It says `ready ADDRESS`, and goes on when it is sent a line or its input ends.
"""

import os
import signal
import sys
import threading

import actors
import ray
import traces

import outrider


def main(way):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where whoever runs the tests ignores it
    options = {"include_dashboard": False, "num_cpus": 4, "address": "local"}
    if "ADDRESS" in os.environ:
        options = {"address": os.environ["ADDRESS"]}
    # Ray's workers have the environment of its first driver, but for this.
    ray.init(log_to_driver=False, runtime_env={"env_vars": {traces.MARK: os.environ[traces.MARK]}}, **options)
    run = outrider.start("driver", source=outrider.table(actors.rows(8), epochs=1), group_size=2, batch_groups=2)
    engine, trainer = actors.Engine.remote(run), actors.Trainer.remote(run, "checkpoint")
    ray.get(engine.hold.remote(6))
    ray.get(engine.complete.remote(4))
    lease = run.take(0)
    first = ray.get(trainer.admit.remote(lease.publish()))
    print("ready", ray.get_runtime_context().gcs_address, flush=True)
    sys.stdin.readline()  # the test looks around
    if way == "returns":
        return
    if way == "raises":
        raise RuntimeError("as told")
    if way == "trains":
        lease.commit()
        ray.get(engine.complete.remote(2))
        serving = engine.serve.remote()
        trained = first + [pair for rollout in (1, 2, 3) for pair in ray.get(trainer.next.remote(rollout))]
        run.close().books.check()
        ray.get(serving)
        print("trained", sorted(trained), flush=True)
        return
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
