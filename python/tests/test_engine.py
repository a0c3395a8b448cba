"""Weights that live apart from the workers, through the shim: the real sidecar, no Ray."""

import concurrent.futures
import multiprocessing

import pytest
from test_life import sample

import outrider


def runs_one_group(run, pipe):
    """In another process: takes a group, whose requests run on the engine, and never ends it."""
    worker = outrider.Worker(run, slots=2, engine="pool", name="lost")
    pipe.send(next(worker.groups()).group)
    pipe.recv()


def test_S3_20_what_a_lost_worker_ran_counts_against_its_engine_until_that_is_quiet(own):
    run = own(count=4, epochs=1)
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    with outrider.Engine(run, "pool") as engine, outrider.Trainer(run) as trainer:
        child = spawn.Process(target=runs_one_group, args=(run, there))
        child.start()
        lost = here.recv()
        child.kill()
        child.join()
        with outrider.Worker(run, slots=2, engine="pool", name="next") as worker:
            works = worker.groups()
            while not run.stats().orphans:
                pass  # The sidecar of the dead process is about to be missed.
            assert [member.orphans for member in run.stats().members if member.role == "engine"] == [2]
            held = run.hold("evaluation")
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                holding = pool.submit(held.__enter__)
                while not run.stats().holds:
                    pass
                assert not holding.done()  # It waits for what may still run there.
                assert engine.quiet() == 2
                holding.result()
            assert run.stats().orphans == 0
            held.__exit__(None, None, None)
            groups = []
            for rollout in range(2):
                for _ in range(2):
                    work = next(works)
                    groups.append(work.group)
                    work.complete([sample(work.prompt(slot)) for slot in range(2)])
                trainer.next(rollout)
            assert sorted(groups) == [0, 1, 2, 3]
            assert lost in groups
            assert engine.quiet() == 0
    assert run.close().books.closed


def test_S3_20_a_worker_gets_work_when_its_engine_has_confirmed(own):
    run = own()
    with outrider.Engine(run, "pool") as engine, outrider.Worker(run, slots=2, engine="pool") as worker:
        works = worker.groups()
        first = next(works)
        sent = []

        def send(version, members):
            sent.append([(member.name, member.actor) for member in members])
            engine.confirm(version)

        run.update_weights(1, send, mode="in_flight")
        assert sent == [[("pool", None)]]
        first.retry("again")
        assert next(works).version == 1
        members = {member.role: member for member in run.stats().members}
        assert members["engine"].confirmed_version == members["worker"].confirmed_version == 1


@pytest.mark.parametrize("name", ["", None, 3])
def test_S3_20_an_engine_without_a_name_is_refused(own, name):
    run = own()
    with pytest.raises(outrider.ConfigError, match="names no engine"):
        outrider.Engine(run, name)
    with pytest.raises(outrider.ConfigError, match="names no engine"):
        outrider.Worker(run, engine=name)
