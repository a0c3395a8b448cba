"""Groups that a worker offers, through the shim: the real sidecar, no Ray."""

import asyncio
import threading

import numpy as np
import pyarrow as pa
import pytest
from test_budget import until
from test_sources import own, pushed, serving

import outrider

__all__ = ["own"]


def offered(index, slots=2, **more):
    """The data of one group whose prompt is `pushed(index)`."""
    return [
        outrider.Sample(np.arange(slot + 2), 1, reward=1.0, label=f"pushed {index}", **more) for slot in range(slots)
    ]


def table(**more):
    columns = {"tokens": pa.array([[1, 2], [3]], pa.list_(pa.int32())), "response_length": pa.array([1, 1], pa.int32())}
    return pa.table({**columns, **more})


def test_S1_17_a_worker_offers_what_it_has_made_by_itself(own):
    run = own(outrider.stream())
    with outrider.Worker(run, engine=False) as worker, outrider.Trainer(run) as trainer:
        assert worker.offer("a", pushed(0), offered(0)) is True
        arrow = table(label=["pushed 1"] * 2)
        assert worker.offer(b"b", pa.RecordBatch.from_pylist([pushed(1)]), arrow) is True
        assert run.stats().executing.used == 0
        batch = trainer.next(0)
        assert {g.group: list(g.label) for g in batch.groups()} == {0: ["pushed 0"] * 2, 1: ["pushed 1"] * 2}
        # Several samples of a slot are told apart by a column "slot", or come as lists.
        several = arrow.take([0, 0, 1]).append_column("slot", pa.array([0, 0, 1], pa.int32()))
        assert worker.offer("c", pushed(2), several) is True
        assert worker.offer("d", pushed(3), [offered(3), *offered(3, 1)]) is True
        run.end_stream()
        assert [(g.group, g.rows.num_rows) for g in trainer.next(1).groups()] == [(2, 3), (3, 3)]
    assert run.close().books.acknowledged.groups == 4


def test_S1_17_offered_data_that_is_too_stale_is_made_again_by_whoever_takes_groups(own):
    run = own(outrider.stream(), batch_groups=1, policy=outrider.Policy(max_staleness=0))
    with outrider.Worker(run) as worker, outrider.Trainer(run) as trainer:
        assert worker.offer("a", pushed(0), offered(0))
        run.update_weights(version=1, send=lambda version, members: worker.confirm(version))
        with serving(run) as server:
            server.confirm(1)
            (group,) = trainer.next(0).groups()
        assert (group.group, list(group.label)) == (0, ["pushed 0"] * 2)
        # Where nobody takes groups the prompt waits for its offerer.
        assert worker.offer("b", pushed(1), offered(1, versions=0))
        waiting = threading.Thread(target=trainer.next, args=(1,))
        waiting.start()
        until(run, lambda stats: "every worker offers what it makes" in stats.waits_for)
        assert worker.offer("b", pushed(1), offered(1, versions=1))
        waiting.join()
    assert run.close().books.acknowledged.groups == 2


async def test_S1_17_an_offer_waits_for_room_or_is_refused(own):
    run = own(outrider.stream(), batch_groups=1, limits=outrider.Limits(executing=2, retained=2, completed=2))
    worker, trainer = outrider.Worker(run, engine=False), outrider.Trainer(run)
    for index in range(2):
        assert await worker.offer_async(index, pushed(index), offered(index))
    with pytest.raises(outrider.Refused, match="2 groups are retained, retained=2"):
        await worker.offer_async(2, pushed(2), offered(2), wait=False)
    waiting = asyncio.create_task(worker.offer_async(2, pushed(2), offered(2)))
    lost = asyncio.create_task(worker.offer_async(3, pushed(3), offered(3)))
    await asyncio.sleep(0)
    lost.cancel()
    assert [g.group for g in (await trainer.next_async(0)).groups()] == [0]
    assert await waiting is True
    # The one that nobody waits for any more counts all the same.
    assert [[g.group for g in (await trainer.next_async(step)).groups()] for step in (1, 2, 3)] == [[1], [2], [3]]
    with run.hold("evaluation"), pytest.raises(outrider.Refused, match="the run is held: evaluation"):
        worker.offer(4, pushed(4), offered(4), wait=False)
    await worker.close_async()
    trainer.close()


async def test_S1_17_an_offer_that_waits_is_answered_though_its_worker_drains_and_when_the_run_closes(own):
    run = own(outrider.stream(), batch_groups=1, limits=outrider.Limits(executing=2, retained=2, completed=2))
    worker, trainer = outrider.Worker(run, engine=False), outrider.Trainer(run)
    for index in range(2):
        assert await worker.offer_async(index, pushed(index), offered(index))
    waiting = [asyncio.create_task(worker.offer_async(index, pushed(index), offered(index))) for index in (2, 3)]
    await asyncio.sleep(0)  # Both have been asked.
    await worker.drain_async()
    with pytest.raises(outrider.Refused, match="drains and offers a group"):
        await worker.offer_async(4, pushed(4), offered(4))
    assert not any(offer.done() for offer in waiting)
    assert [g.group for g in (await trainer.next_async(0)).groups()] == [0]
    assert await waiting[0] is True
    assert not waiting[1].done()
    await run.close_async(force=True)
    assert await waiting[1] is False
    trainer.close()


async def test_S1_17_an_offer_waits_for_a_trainer_that_logs_it(own):
    run = own(outrider.stream(), batch_groups=1)
    with outrider.Worker(run, engine=False) as worker:
        with pytest.raises(outrider.Refused, match="no trainer is here to log it"):
            await worker.offer_async("a", pushed(0), offered(0), wait=False)
        waiting = asyncio.create_task(worker.offer_async("a", pushed(0), offered(0)))
        with outrider.Trainer(run) as trainer:
            assert await waiting is True
            assert [g.group for g in (await trainer.next_async(0)).groups()] == [0]


def test_S1_17_what_cannot_be_offered_is_refused_and_changes_nothing(own):
    run = own(outrider.stream(), batch_groups=1, policy=outrider.Policy(max_attempts=2))
    worker, trainer = outrider.Worker(run, engine=False), outrider.Trainer(run)
    arrow = table()
    for row, data, error, message in (
        ([pushed(0)], offered(0), outrider.DataError, "offer('a'): the row is a list"),
        (pushed(0), None, outrider.DataError, "offer('a'): got a NoneType, group_size is 2"),
        (pushed(0), offered(0, 1), outrider.DataError, "got 1 entries, group_size is 2"),
        (pushed(0), [*offered(0, 1), []], outrider.DataError, "offer('a'): slot 1: no sample"),
        (pushed(0), [*offered(0, 1), 7], outrider.DataError, "slot 1: a int is no sample"),
        (pushed(0), offered(0, group=3), outrider.DataError, "leave the column 'group' out"),
        (pushed(0), table(group=[3, 3]), outrider.DataError, "leave the column 'group' out"),
        (pushed(0), arrow.slice(1), outrider.DataError, "1 rows without a column"),
    ):
        with pytest.raises(error) as caught:
            worker.offer("a", row, data)
        assert message in str(caught.value)
    for call, error, message in (
        (lambda: worker.offer(1.5, pushed(0), offered(0)), outrider.ConfigError, "offer(id=1.5)"),
        (lambda: worker.offer("a", pushed(0), offered(0), wait=0), outrider.ConfigError, "offer(wait=0)"),
        (
            lambda: worker.offer("a", {"x": b"0" * (9 << 20)}, offered(0)),
            outrider.Refused,
            "at most 8388608 go at once",
        ),
    ):
        with pytest.raises(error) as caught:
            call()
        assert message in str(caught.value)
    assert run.push("z", pushed(9)) is True  # nothing has come before it
    # What only the run can tell is a failed attempt; the prompt stays, and the same id may be offered again.
    twice = table(slot=pa.array([0, 0], pa.int32()))
    with pytest.raises(outrider.DataError, match="parent slot 1 has no sample"):
        worker.offer("a", pushed(0), twice)
    assert worker.offer("a", pushed(0), offered(0)) is True
    with pytest.raises(outrider.Refused, match="the source of this run is no stream"):
        outrider.Worker(own(outrider.table([{"a": 1}]))).offer("a", pushed(0), offered(0))
    trainer.close()
    run.close(force=True)
    assert worker.offer("b", pushed(1), offered(1)) is False  # the run is over


def test_S1_18_an_offer_or_push_of_a_known_id_counts_once_also_after_a_restart(own):
    run = own(outrider.stream("mine"), batch_groups=1)
    with outrider.Worker(run, engine=False) as worker, outrider.Trainer(run) as trainer:
        assert worker.offer("a", pushed(0), offered(0)) is True
        assert worker.offer("a", pushed(0), offered(0)) is False
        assert run.push("a", pushed(0)) is False
        trainer.next(0)
        state = run.state(0)
    run.close()
    run = own(outrider.stream("mine"), batch_groups=1, state=state)
    with outrider.Worker(run, engine=False) as worker, outrider.Trainer(run, state_at=0, state=state):
        assert worker.offer("a", pushed(0), offered(0)) is False
        with pytest.raises(outrider.Conflict, match="pushed before with content"):
            worker.offer("a", pushed(1), offered(1))


async def test_S3_18_what_is_offered_takes_room_before_it_is_written(own):
    def big(size):
        return [outrider.Sample(np.zeros(size, np.int32), 1, reward=1.0) for _ in range(2)]

    run = own(outrider.stream(), batch_groups=1, limits=outrider.Limits(bytes="250KB"))
    with outrider.Worker(run, engine=False) as worker, outrider.Trainer(run) as trainer:
        with pytest.raises(
            outrider.DataError, match=r"group 0 is 40\d+ bytes, the whole budget of host .* is bytes=250000"
        ):
            await worker.offer_async("a", pushed(0), big(50_000))
        for index in range(2):
            assert await worker.offer_async(index, pushed(index), big(12_500))
        waiting = asyncio.create_task(worker.offer_async(2, pushed(2), big(12_500)))
        await asyncio.sleep(0)
        assert until(run, lambda stats: stats.waiting_for_bytes == 1).bytes.used <= 250_000
        assert [g.group for g in (await trainer.next_async(0)).groups()] == [1]
        assert await waiting is True
