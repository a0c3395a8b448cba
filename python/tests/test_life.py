"""The product through the shim: the real sidecar, no Ray."""

import asyncio
import contextlib
import ctypes
import itertools
import multiprocessing
import pickle
import threading

import numpy as np
import pyarrow as pa
import pytest

import outrider


def sample(prompt):
    return outrider.Sample(
        np.arange(prompt.slot + 2), prompt.slot + 1, reward=float(prompt.slot), label=prompt["question"]
    )


@contextlib.contextmanager
def engine(run, make=sample, slots=8):
    """A worker that completes whatever it gets, in a thread, until the run ends or the block does."""
    worker = outrider.Worker(run, slots=slots)

    def work_all():
        for work in worker.groups():
            work.complete([make(work.prompt(slot)) for slot in range(worker.group_size)])

    thread = threading.Thread(target=work_all)
    thread.start()
    try:
        yield worker
    finally:
        worker.close()
        thread.join()


def test_the_whole_life_in_one_process(own):
    run = own(count=6, epochs=1)
    trained = []
    with outrider.Trainer(run) as trainer, engine(run):
        for rollout in range(3):
            assert run.next_rollout == rollout
            batch = trainer.next(rollout)
            for group in batch.groups():
                assert group.label == [f"frage {group.group} \u00e4\u2713"] * 2
                assert group.tokens.tolist() == [0, 1, 0, 1, 2]
                trained.append((group.group, group.attempt))
        with pytest.raises(outrider.EndOfRun):
            trainer.next(3)
    assert sorted(trained) == [(group, 1) for group in range(6)]
    stats = run.close()
    assert stats.books.closed
    stats.books.check()
    assert stats.books.acknowledged == outrider.Count(6, 12, 30)
    assert run.close() is stats
    assert run.stats() is stats


@pytest.mark.parametrize("order", ["lifo", "windowed", "freshest"])
def test_S4_12_S4_14_S4_15_a_paced_run_trains_every_group_once_in_any_order(own, order):
    policy = outrider.Policy(order=order, window=3, max_staleness=1, pace=True, last_batch="drop")
    run = own(count=9, epochs=1, policy=policy)
    trained = []
    with outrider.Trainer(run) as trainer, outrider.Worker(run, slots=8) as worker:
        thread = threading.Thread(
            target=lambda: [work.complete([sample(work.prompt(s)) for s in range(2)]) for work in worker.groups()]
        )
        thread.start()
        for rollout in range(4):
            trained += [group.group for group in trainer.next(rollout).groups()]
            run.update_weights(rollout + 1, send=lambda version, engines: worker.confirm(version))
        with pytest.raises(outrider.EndOfRun):
            trainer.next(4)
        worker.close()
        thread.join()
    assert len(set(trained)) == len(trained) == 8
    books = run.close().books
    books.check()
    assert books.discarded["last_batch"].groups == 1


def test_S3_04_pace_without_a_bound_is_refused_by_the_owner(own):
    with pytest.raises(outrider.ConfigError, match="pace has no bound to keep; give max_staleness"):
        own(policy=outrider.Policy(pace=True))


async def test_L_11_the_whole_life_awaited(own):
    run = own(count=4)
    worker, trainer = outrider.Worker(run, slots=8), outrider.Trainer(run)

    async def work_all():
        async for work in worker.groups():
            await work.complete_async([sample(work.prompt(slot)) for slot in range(2)])

    working = asyncio.create_task(work_all())
    for rollout in range(2):
        async with await run.take_async(rollout) as lease:
            publication = await lease.publish_async()
            batch = await trainer.admit_async(pickle.loads(pickle.dumps(publication)))
            assert batch.num_rows == 4
            await lease.commit_async()
            assert await lease.status_async() == "committed"
    state = await run.state_async(1)
    await run.saved_async(1)
    assert len(state) < 2_000
    assert (await run.close_async()).books.closed
    await asyncio.gather(working, worker.close_async(), trainer.close_async())


@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_L_11_serve_runs_async_and_plain_functions_and_never_blocks_the_loop(own, kind):
    run = own(count=4)
    threads, turned = set(), []
    loop = asyncio.get_running_loop()

    async def generate(prompt):
        threads.add(threading.get_ident())
        await asyncio.sleep(0)
        return sample(prompt)

    def generate_plainly(prompt):
        threads.add(threading.get_ident())
        turns = threading.Event()
        loop.call_soon_threadsafe(turns.set)
        turned.append(turns.wait(60))  # The loop waits for the batch all the while.
        return sample(prompt)

    with outrider.Worker(run, slots=8) as worker, outrider.Trainer(run) as trainer:
        serving = asyncio.create_task(worker.serve(generate if kind == "async" else generate_plainly))
        batch = await trainer.next_async(0)
        await run.close_async()
        await serving
    assert batch.num_rows == 4
    assert (threading.get_ident() in threads) == (kind == "async")
    assert all(turned)
    assert bool(turned) == (kind == "sync")


async def test_S2_11_a_function_that_says_it_was_cancelled_has_failed_like_any_other(own, caplog):
    run = own(count=2, epochs=1, policy=outrider.Policy(max_attempts=2, max_failed=1.0))
    calls = []

    async def generate(prompt):
        calls.append((prompt.group, prompt.attempt))
        raise asyncio.CancelledError

    with outrider.Worker(run, slots=2) as worker:
        serving = asyncio.create_task(worker.serve(generate))
        with pytest.raises(outrider.RunFailed, match="2 groups have used up their 2 attempts"):
            await run.take_async(0)
        with contextlib.suppress(outrider.Error):
            await serving
    assert {attempt for _, attempt in calls} <= {1, 2}
    assert "CancelledError: raised by the function; nobody had cancelled it" in caplog.text


async def test_S2_07_a_run_that_has_failed_says_so_once_and_still_gives_its_counts_and_its_state(own):
    policy = outrider.Policy(max_attempts=1, max_failed=0.25)
    bad = {1}

    async def generate(prompt):
        if prompt.group in bad:
            raise ValueError("no such word")
        return sample(prompt)

    async def train(run, first):
        """Trains to the end of the run, whatever it is."""
        async with run:
            with outrider.Worker(run, slots=2) as worker, outrider.Trainer(run, state_at=first - 1) as trainer:
                serving = asyncio.create_task(worker.serve(generate))
                try:
                    for rollout in itertools.count(first):
                        await trainer.next_async(rollout)
                finally:
                    await asyncio.wait([serving])
                    serving.exception()

    run = own(count=4, batch_groups=1, epochs=1, policy=policy)
    with pytest.raises(
        outrider.RunFailed, match="1 attempts, max_failed=1; the first failed with: ValueError: no such word"
    ):
        await train(run, 0)
    stats = run.stats()
    assert stats == run.close()
    assert (stats.books.failed.groups, stats.books.live.groups) == (1, 0)

    bad.clear()
    again = own("again", count=4, batch_groups=1, epochs=1, policy=policy, state=run.final_state)
    with pytest.raises(outrider.EndOfRun):
        await train(again, stats.next_rollout)
    assert again.stats().books.acknowledged.groups == 4


async def test_S3_12_a_run_that_has_failed_is_closed_by_whoever_comes(own):
    run = own(count=4, batch_groups=1, policy=outrider.Policy(max_attempts=1, max_failed=0.25))
    with outrider.Worker(run, slots=2) as worker, pytest.raises(outrider.RunFailed):
        await worker.serve(lambda prompt: 1 / 0)
    with pytest.raises(outrider.RunFailed, match="ZeroDivisionError"), outrider.Trainer(run) as trainer:
        trainer.next(0)
    stats = run.stats()
    assert stats.books.failed.groups == 1
    assert stats.waits_for.endswith("the first failed with: ZeroDivisionError: division by zero; close the run")
    assert run.close().books.live.groups == 0
    assert run.final_state


async def test_S2_11_a_function_that_raises_fails_its_group_and_nothing_else(own, caplog):
    run = own(count=4, epochs=1, policy=outrider.Policy(max_attempts=2, max_failed=0.5))
    calls = []

    async def generate(prompt):
        calls.append((prompt.group, prompt.attempt, prompt.slot))
        if prompt.group == 1 and prompt.slot == 1:
            raise ValueError("no such word")
        if prompt.group == 2 and prompt.attempt == 1 and prompt.slot == 0:
            raise outrider.Retry("engine aborted")
        return sample(prompt)

    with outrider.Worker(run, slots=2) as worker, outrider.Trainer(run) as trainer:
        serving = asyncio.create_task(worker.serve(generate))
        groups = []
        with contextlib.suppress(outrider.EndOfRun):
            for rollout in range(4):
                groups += [(g.group, g.attempt) for g in (await trainer.next_async(rollout)).groups()]
        stats = await run.stats_async()
        await run.close_async()
        await serving
    assert sorted(groups) == [(0, 1), (2, 2), (3, 1)]
    assert stats.books.failed.groups == 1
    assert {(group, attempt) for group, attempt, _ in calls if group == 1} == {(1, 1), (1, 2)}
    assert "group 1 attempt 1: the function raised" in caplog.text


def trees(group, slot):
    """Several samples of one slot, different for each slot."""
    return [outrider.Sample([group, slot, number], 1, reward=float(number)) for number in range(slot + 1)]


async def test_S2_18_serve_complete_and_arrow_give_the_same_rows(own):
    tables = []
    for way in ("serve", "complete", "arrow"):
        run = own(way, count=2, epochs=1)
        with outrider.Worker(run, slots=8) as worker, outrider.Trainer(run) as trainer:
            if way == "serve":

                async def generate(prompt):
                    return trees(prompt.group, prompt.slot)

                working = asyncio.create_task(worker.serve(generate))
                batch = await trainer.next_async(0)
            else:
                stream = worker.groups()
                for _ in range(2):
                    work = await anext(stream)
                    if way == "complete":
                        data = [trees(work.group, slot) for slot in range(2)]
                    else:
                        rows = [(slot, number) for slot in range(2) for number in range(slot + 1)]
                        data = pa.RecordBatch.from_pydict(
                            {
                                "slot": pa.array([slot for slot, _ in rows], pa.int32()),
                                "group": pa.array([work.group for _ in rows], pa.int64()),
                                "tokens": pa.array([[work.group, *row] for row in rows], pa.list_(pa.int32())),
                                "response_length": pa.array([1 for _ in rows], pa.int32()),
                                "reward": pa.array([float(number) for _, number in rows]),
                                "status": pa.array([0 for _ in rows], pa.uint8()),
                            }
                        )
                    assert await work.complete_async(data)
                batch = await trainer.next_async(0)
            columns = sorted(batch.column("group") and next(batch.groups()).rows.schema.names)
            tables.append({name: batch.column(name).to_pylist() for name in columns})
            await run.close_async()
            if way == "serve":
                await working
    assert tables[0] == tables[1] == tables[2]
    assert tables[0]["slot"] == [0, 1, 1] * 2
    assert tables[0]["part"] == [0, 0, 1] * 2


def every_type():
    """Two rows of every type that a user's column may have."""
    return {
        "i8": pa.array([1, -1], pa.int8()),
        "u16": pa.array([1, 65535], pa.uint16()),
        "i64": pa.array([1 << 60, -1], pa.int64()),
        "f16": pa.array(np.float16([0.5, -2])),
        "f32": pa.array([0.5, float("nan")], pa.float32()),
        "text": pa.array(["", "\u00fc\U0001f600"]),
        "blob": pa.array([b"", b"\x00\xff"], pa.binary()),
        "fixed": pa.array([b"ab", b"cd"], pa.binary(2)),
        "when": pa.array([1, 2], pa.timestamp("us", "UTC")),
        "pair": pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": ""}]),
        "nested": pa.array([[[1], []], [[2, 3]]], pa.list_(pa.list_(pa.int32()))),
        "empty": pa.array([[], []], pa.list_(pa.float32())),
        "square": pa.array([[1, 2], [3, 4]], pa.list_(pa.int16(), 2)),
    }


def test_S11_01_what_the_engine_writes_is_what_the_trainer_reads(own):
    run = own(count=2, epochs=1)
    base = {
        "tokens": pa.array([[], [1, 2, 3]], pa.list_(pa.int32())),
        "response_length": pa.array([0, 2], pa.int32()),
        "status": pa.array([0, 1], pa.uint8()),
    }
    padded = pa.RecordBatch.from_pydict(
        {name: pa.concat_arrays([column, column]) for name, column in {**base, **every_type()}.items()}
    )
    written = padded.slice(1, 2)  # neither offsets nor values begin where their buffers do
    with outrider.Worker(run, slots=4) as worker, outrider.Trainer(run) as trainer:
        stream = worker.groups()
        for _ in range(2):
            assert next(stream).complete(written)
        batch = trainer.next(0)
        for group in batch.groups():
            for name in written.schema.names:
                assert group.column(name).equals(written.column(name)) or name == "f32", name
            assert np.array_equal(group.f32, written.column("f32").to_numpy(), equal_nan=True)
        run.close()


def test_many_groups_in_one_report_and_one_segment(own):
    run = own(batch_groups=4, limits=outrider.Limits(executing=16, completed=8))
    with outrider.Worker(run, slots=16) as worker, outrider.Trainer(run) as trainer:
        works = []
        stream = worker.batches(max=8)
        while len(works) < 8:
            works += next(stream)
        rows = pa.RecordBatch.from_pydict(
            {
                "tokens": pa.array([[work.group, slot] for work in works for slot in range(2)], pa.list_(pa.int32())),
                "response_length": pa.array([1] * 16, pa.int32()),
            }
        )
        with pytest.raises(outrider.DataError, match="15 rows without a column 'group'"):
            worker.complete_many(works, rows.slice(1))
        assert worker.complete_many(works, rows) == [True] * 8
        with pytest.raises(outrider.Stale, match="was ended before; end each work once"):
            works[0].retry("again")
        batch = trainer.next(0)
        assert [group.tokens.tolist() for group in batch.groups()] == [[n, 0, n, 1] for n in range(4)]
        assert batch.column("tokens").num_chunks == 1
        run.close()


def test_S11_09_a_view_outlives_lease_trainer_and_sidecar(own):
    run = own()
    with engine(run):
        trainer = outrider.Trainer(run)
        view = next(trainer.next(0).groups()).tokens
        trainer.close()
        sidecar = run._owner.sidecar
        run.close()
    assert sidecar.exit_code == 0
    assert view.tolist() == [0, 1, 0, 1, 2]


def test_S1_02_a_requeued_group_comes_back_pristine(own):
    run = own(count=2)
    with outrider.Worker(run, slots=2) as worker:
        stream = worker.groups()
        work = next(stream)
        prompt = work.prompt(0)
        row, before, mine = work.row, work.prompts, work.prompts
        prompt._dict()["question"] = "scribbled"
        for buffer in (buffer for column in mine.columns for buffer in column.buffers() if buffer is not None):
            ctypes.memset(buffer.address, 0x7F, buffer.size)
        assert work.retry("aborted")
        again = next(work for work in stream if work.row == row or not work.retry("another"))
        assert again.attempt == 2
        assert again.prompts.equals(before)
        assert again.prompt(0)["question"] == before.to_pylist()[0]["question"]


def test_a_lease_in_a_with_block(own):
    run = own()
    with engine(run), outrider.Trainer(run) as trainer:
        lease = run.take(0)
        assert lease.lengths.tolist() == [2, 3] * 2
        assert lease.lengths.dtype == np.int64
        assert lease.groups[0].rewards.tolist() == [0.0, 1.0]
        with pytest.raises(ZeroDivisionError), lease:
            raise ZeroDivisionError
        assert lease.status() == "rolled_back"
        lease = run.take(0)
        with pytest.raises(outrider.Refused) as caught, lease:
            lease.status()
        assert str(caught.value) == (
            f"outrider: the block of rollout 0 (admission {lease.admission}) ended with the lease open; it was rolled back; "
            "call commit() or rollback(reason) in the block"
        )
        with run.take(0) as lease:
            publication = lease.publish()
            with pytest.raises(outrider.NotAdmitted, match="trainer"):
                lease.commit()
            trainer.admit(publication)
            lease.commit()
            lease.commit()
        assert run.next_rollout == 1


def test_shards_that_miss_or_repeat_a_row_are_refused(own):
    run = own()
    with engine(run), run.take(0) as lease:
        wrong = [
            ([[0, 1, 2]], "outrider: shards leave out row 3 (and 0 more); give each row 0..3 to exactly one shard"),
            (
                [[0, 1], [1, 2, 3]],
                "outrider: shards[1] names row 1, which is there twice; give each row 0..3 to exactly one shard",
            ),
            (
                [[0, 1, 2, 3, 4]],
                "outrider: shards[0] names row 4, which is not in a batch of 4 rows; give each row 0..3 to exactly one shard",
            ),
        ]
        wrong.append(
            ([[0, 1, 2, 3], []], "outrider: shards[1] is empty; give each shard at least one row, or fewer shards")
        )
        for shards, message in wrong:
            with pytest.raises(outrider.ConfigError) as caught:
                lease.publish(shards=shards)
            assert str(caught.value) == message
        lease.rollback("done looking")


async def test_S9_03_two_callers_and_a_cancelled_one_share_one_close(own):
    run = own()
    elsewhere = pickle.loads(pickle.dumps(run))
    for one in (run, elsewhere):
        one.stats()  # a member of the run from here on: nobody joins one that is closing
    with outrider.Worker(run, slots=2) as worker:
        work = next(worker.groups())
        told, loop = asyncio.Event(), asyncio.get_running_loop()
        worker.on_cancel(lambda works: loop.call_soon_threadsafe(told.set))
        gives_up = asyncio.ensure_future(run.close_async())
        others = [asyncio.ensure_future(closer.close_async()) for closer in (run, elsewhere)]
        await told.wait()  # The close has begun; it waits for this work to end.
        elsewhere.stats()  # What it asked before has been heard, too.
        gives_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gives_up
        assert not any(other.done() for other in others)
        work.retry("told to end")
        first, second = await asyncio.gather(*others)
    assert first.books == second.books
    assert first.books.closed
    assert run.final_state == elsewhere.final_state
    assert run.close() == first


def test_S3_04_limits_that_cannot_work_are_refused_all_in_one_message(own):
    with pytest.raises(outrider.ConfigError) as caught:
        own(group_size=4, limits=outrider.Limits(executing=3, completed=1, retained=1))
    message = str(caught.value)
    for number in ("executing=3", "4", "completed=1", "2"):
        assert number in message


def test_a_closed_or_unknown_run_is_refused(own):
    run = own()
    other = pickle.loads(pickle.dumps(run))
    run.close()
    for call in (lambda: run.take(0), lambda: run.hold("x"), lambda: run.state(0)):
        with pytest.raises(outrider.Closed) as caught:
            call()
        assert str(caught.value) == "outrider: run 'test' is closed; start a new one"
    assert other.name == "test"
    assert other.id == run.id


def test_outside_of_ray_start_and_connect_say_so():
    with pytest.raises(outrider.StartError) as caught:
        outrider.start("r", source=outrider.table([{"a": 1}]), group_size=2, batch_groups=2)
    assert "call ray.init() first" in str(caught.value)
    with pytest.raises(outrider.StartError, match=r"call ray.init\(address=...\) first"):
        outrider.connect("r")


def in_another_process(run, connection):
    with outrider.Trainer(run) as trainer:
        batch = trainer.next(0)
        connection.send((batch.packed("tokens").tokens, run.stats().trainers))


def test_a_run_pickles_into_another_process(own):
    run = own()
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    with engine(run):
        process = spawn.Process(target=in_another_process, args=(run, there))
        process.start()
        there.close()
        tokens, trainers = here.recv()
        process.join()
    assert tokens.tolist() == [0, 1, 0, 1, 2] * 2
    assert trainers == 1
    assert process.exitcode == 0


def test_S11_07_taking_batches_leaves_no_descriptor_behind(own):
    from test_wire import descriptors

    run = own()
    with engine(run), outrider.Trainer(run) as trainer:
        trainer.next(0)
        before = len(descriptors())
        for rollout in range(1, 40):
            trainer.next(rollout)
        # A report may be under way: its segment's descriptor is open until it is sent.
        assert len(descriptors()) <= before + 4
        run.close()


def test_a_worker_that_drains_finishes_what_it_has(own):
    run = own()
    with outrider.Worker(run, slots=4) as worker, outrider.Trainer(run) as trainer:
        stream = worker.groups()
        works = [next(stream), next(stream)]
        draining = threading.Thread(target=worker.drain)
        draining.start()
        for work in works:
            assert work.complete([sample(work.prompt(slot)) for slot in range(2)])
        draining.join()
        assert len(list(stream)) <= 2  # granted before the drain was heard
        assert run.stats().requeued == 0
        assert trainer.next(0).num_rows == 4
        run.close()


def test_progress_is_one_line(own):
    line = own().progress()
    assert "\n" not in line
    assert line.startswith("rollout 0 \u00b7 version 0 \u00b7 0 acknowledged")


def test_S9_05_books_that_do_not_close_are_an_error_at_the_end_and_the_state_is_kept(own, monkeypatch, caplog):
    run = own()
    monkeypatch.setattr(outrider.Books, "_gaps", lambda books: ["groups: 2 reserved, 1 found"])
    with (
        caplog.at_level("INFO", "outrider"),
        pytest.raises(outrider.Error, match="the books are open: groups: 2 reserved"),
    ):
        run.close()
    assert any("the books of run 'test' at its end: Books(reserved=" in line for line in caplog.messages)
    assert run.final_state
    assert run.close().books.reserved.groups == 0


def test_S9_05_the_books_are_metrics(own):
    run = own()
    with engine(run), outrider.Trainer(run) as trainer:
        trainer.next(0)
        lines = dict(line.rsplit(" ", 1) for line in run.metrics().splitlines() if line.startswith("outrider_"))
    name = f'{{account="acknowledged",reason="",run="{run.name}"}}'
    assert float(lines["outrider_groups" + name]) == run.stats().books.acknowledged.groups == 2
    assert float(lines["outrider_samples" + name]) == 4
    assert "process_resident_memory_bytes" in run.metrics()
