"""Actors that Ray restarts: engine, owner, trainer."""

import actors
import pyarrow as pa
import pyarrow.parquet
import pytest
import ray
import traces

import outrider


def send(version, members):
    ray.get([engine.load.remote(version) for engine in members.actors])


def train(learner, rollouts):
    return sorted(pair for rollout in rollouts for pair in ray.get(learner.next.remote(rollout)))


def test_L_03_a_restarted_engine_is_a_new_session_that_gets_weights_before_work(start, trainer, engine):
    run = start("session", count=2)
    worker, learner = engine(run), trainer(run)
    run.update_weights(1, send, mode="in_flight")
    ray.get(worker.hold.remote(2))
    before = ray.get(worker.session.remote())
    old = ray.get(worker.hold.remote(0))

    actors.sigkill(worker)
    assert traces.until(lambda: run.stats().unconfirmed == 1)
    assert ray.get(worker.session.remote()) != before
    serving = worker.serve.remote()
    # What the former life was given is void, and its groups wait for an engine that holds the current weights.
    assert ray.get([worker.complete_as.remote(assignment) for assignment in old]) == [False, False]
    stats = run.stats()
    assert (stats.executing.used, stats.completed.used, stats.replay) == (0, 0, 2)

    report = run.rebroadcast(send)
    assert [member.session for member in report.confirmed] == [ray.get(worker.session.remote())]
    assert train(learner, [0]) == [(0, 2), (1, 2)]
    _, events = ray.get(worker.history.remote())
    assert events == ["load 1", "work of version 1", "work of version 1"]
    stats = run.close()
    stats.books.check()
    assert stats.books.acknowledged.groups == 2
    ray.get(serving)


def test_L_04_S10_03_a_restarted_owner_finds_all_that_was_done_and_nothing_is_done_twice(start, owner, trainer, engine):
    run = start("owner", count=8)
    worker, learner = engine(run), trainer(run)
    ray.get(worker.hold.remote(6))
    assert ray.get(worker.complete.remote(4)) == [True] * 4
    first = train(learner, [0])  # two acknowledged, two completed, two or more running
    life = run.stats().term

    actors.sigkill(owner(run))
    stats = traces.until(lambda: (now := run.stats()).term > life and not now.recovering and now)
    assert stats.next_rollout == 1
    assert stats.books.acknowledged.groups == 2
    assert stats.books.live_groups.get("completed") == 2
    assert (stats.workers, stats.trainers) == (1, 1)

    # The completed groups are there without the engine, and what ran goes on under its old receipts.
    second = train(learner, [1])
    assert ray.get(worker.complete.remote(2)) == [True] * 2
    third = train(learner, [2])
    serving = worker.serve.remote()
    trained = first + second + third + train(learner, [3])
    assert sorted(trained) == [(group, 1) for group in range(8)]
    assert sorted(ray.get(worker.history.remote())[0]) == [(group, 1) for group in range(8)]
    stats = run.close()
    stats.books.check()
    assert (stats.books.acknowledged.groups, stats.requeued) == (8, 0)
    ray.get(serving)


@pytest.mark.parametrize("size", [10, 1 << 17])
def test_S1_23_a_restarted_owner_needs_no_file_that_the_driver_read(
    start, owner, trainer, engine, tmp_path, monkeypatch, size
):
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(pa.table({"question": [f"{i:{size}}" for i in range(4)]}), "prompts.parquet")
    source = outrider.table("prompts.parquet", epochs=1)
    (tmp_path / "prompts.parquet").unlink()
    run = start(f"file-{size}", source=source)
    learner = trainer(run)
    actors.sigkill(owner(run))
    serving = engine(run).serve.remote()
    assert train(learner, [0, 1]) == [(group, 1) for group in range(4)]
    run.close().books.check()
    ray.get(serving)


def test_S12_02_a_trainer_that_comes_back_alone_rewinds_the_run_to_its_checkpoint(start, trainer, engine):
    run = start("rewind", count=8, policy=outrider.Policy(max_staleness=4))
    worker, learner = engine(run), trainer(run)
    serving = worker.serve.remote()
    past = {}
    for rollout in range(3):
        past[rollout] = train(learner, [rollout])
        run.update_weights(rollout + 1, send)
        if rollout == 0:
            ray.get(learner.save.remote(0, run.state(0)))
            run.saved(0)

    actors.sigkill(learner)
    stats = traces.until(lambda: (now := run.stats()).rewinds == 1 and now)
    assert stats.next_rollout == 1
    assert stats.announced_version == 1
    assert stats.books.acknowledged.groups == 2
    assert stats.unconfirmed == 1  # it holds version 3, which is void

    assert run.rebroadcast(send).version == 1
    again = train(learner, [1, 2, 3])
    assert sorted(group for group, _ in past[0] + again) == list(range(8))
    made = [group for group, _ in ray.get(worker.history.remote())[0]]
    assert [made.count(group) for rollout in (1, 2) for group, _ in past[rollout]] == [2] * 4
    stats = run.close()
    stats.books.check()
    assert stats.books.acknowledged.groups == 8
    ray.get(serving)
