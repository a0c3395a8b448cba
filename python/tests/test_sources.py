"""Where prompts come from, through the shim: the real sidecar, no Ray."""

import asyncio
import contextlib
import functools
import logging
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import outrider


def row(index):
    return {"question": f"what is {index} + {index}?", "number": index}


def sample(prompt):
    return outrider.Sample(np.arange(prompt.slot + 2), 1, reward=1.0, label=prompt["question"])


@contextlib.contextmanager
def serving(run, make=sample):
    """A worker that serves in a thread until the run ends or the block does."""
    worker = outrider.Worker(run, slots=8)

    def serve():
        with contextlib.suppress(outrider.RunFailed):
            worker.serve_blocking(make)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield worker
    finally:
        worker.close()
        thread.join()


@pytest.fixture
def own():
    """Owns runs of a source and closes what a test leaves open."""
    runs = []

    def make(source, **more):
        run = outrider.own("test", source=source, **{"group_size": 2, "batch_groups": 2, **more})
        runs.append(run)
        return run

    yield make
    for run in runs:
        with contextlib.suppress(outrider.Error):
            run.close(force=True)


def train(run, rollouts):
    """Trains until the run ends; the labels of each group, by group."""
    trained = {}
    with outrider.Trainer(run) as trainer, contextlib.suppress(outrider.EndOfRun):
        for rollout in range(rollouts):
            for group in trainer.next(rollout).groups():
                assert group.group not in trained
                trained[group.group] = group.label
    return trained


def test_S1_22_rows_are_made_in_the_worker_by_their_index(own):
    made = []

    def here(index):
        made.append((index, threading.current_thread().name.rsplit("_", 1)[0]))
        return row(index)

    source = outrider.keyed(4, Called(here), digest="v1", shuffle=True, seed=5, epochs=2)
    run = own(source)
    with serving(run):
        trained = train(run, 5)
    assert sorted(trained) == list(range(8))
    assert {thread for _, thread in made} == {"outrider-row"}
    assert sorted(index for index, _ in made) == sorted([*range(4)] * 2)
    for epoch in (trained[group] for group in range(4)), (trained[group] for group in range(4, 8)):
        assert sorted(label[0] for label in epoch) == [row(index)["question"] for index in range(4)]
    assert run.close().books.failed.groups == 0


known = {}


class Called:
    """Pickles into itself, so that a test sees calls that its own process's worker makes."""

    def __init__(self, function):
        self.function = function
        known[id(self)] = self

    def __call__(self, index):
        return self.function(index)

    def __reduce__(self):
        return found, (id(self),)


def found(key):
    return known[key]


def test_S1_22_a_row_that_raises_or_has_other_columns_fails_its_group_alone(own, caplog):
    caplog.set_level(logging.WARNING, "outrider")

    def make(index):
        if index == 1:
            raise KeyError("no such problem")
        return {"question": 7} if index == 2 else row(index)

    schema = pa.schema([("question", pa.string()), ("number", pa.int64())])
    source = outrider.keyed(5, Called(make), digest="v1", schema=schema, epochs=1)
    run = own(source, policy=outrider.Policy(max_failed=0.9, max_attempts=2))
    with serving(run):
        trained = train(run, 3)
    books = run.close().books
    assert sorted(trained) == [0, 3, 4]
    assert (books.failed.groups, books.acknowledged.groups) == (2, 3)
    assert "row(1) failed" in caplog.text
    assert "KeyError" in caplog.text


def test_S1_22_two_workers_that_make_something_else_of_one_index_do_not_both_count(own):
    calls = []

    def make(index):
        calls.append(index)
        return row(100 * len(calls) + index)

    # Two epochs of one row, made twice, differently: the later one is refused, twice.
    source = outrider.keyed(1, Called(make), digest="v1", epochs=2)
    run = own(source, batch_groups=1, policy=outrider.Policy(max_failed=1.0, max_attempts=2))
    with outrider.Trainer(run) as trainer, serving(run):  # who comes when it is over already is told so
        trainer.next(0)
        with pytest.raises(outrider.RunFailed, match=r"row 0 was made with content .* before"):
            trainer.next(1)


def test_S1_22_what_cannot_be_a_keyed_source_is_refused():
    for call, message in (
        (lambda: outrider.keyed(0, row, digest="v1"), "length=0"),
        (lambda: outrider.keyed(2, 5, digest="v1"), "give a function of an index"),
        (lambda: outrider.keyed(2, row, digest=""), "text or bytes that change when the rows do"),
        (lambda: outrider.keyed(2, row, digest="v1", schema={"a": 1}), "give a pyarrow.Schema"),
        (lambda: outrider.keyed(2, row, digest="v1", shuffle=1), "give True or False"),
        (lambda: outrider.keyed(2, row, digest="v1", epochs=0), "epochs=0"),
        (lambda: outrider.keyed(2, functools.partial(row, threading.Lock()), digest="v1"), "cannot be pickled"),
    ):
        with pytest.raises(outrider.ConfigError) as caught:
            call()
        assert message in str(caught.value)


def state_of(own, source, **more):
    run = own(source, **more)
    run.close()
    return run.final_state


def test_S7_11_equal_content_from_elsewhere_is_accepted_and_what_differs_is_said(own, tmp_path):
    rows = pa.table({"a": [1, 2, None, 4, 5], "b": ["x", "y", "z", None, "v"]})
    with pa.OSFile(str(tmp_path / "here.arrow"), "wb") as file, pa.ipc.new_stream(file, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=2)
    state = state_of(own, outrider.table(tmp_path / "here.arrow"))
    (tmp_path / "here.arrow").rename(tmp_path / "moved.arrow")
    pa.parquet.write_table(rows, tmp_path / "rows.parquet")
    for same in (tmp_path / "moved.arrow", tmp_path / "rows.parquet", rows, rows.to_pylist()):
        own(outrider.table(same), state=state).close()
    other = pa.table({"a": [1, 2, None, 4, 6], "b": ["x", "y", "z", None, "v"]})
    for source, more, parts in (
        (outrider.table(other), {}, ["content: "]),
        (outrider.table(rows.rename_columns(["a", "c"])), {}, ["content: "]),
        (outrider.table(rows.slice(1)), {"group_size": 3}, ["content: ", "size: 4", "group_size: 3"]),
        (outrider.table(rows, shuffle=True), {}, ["order: shuffle=true"]),
    ):
        with pytest.raises(outrider.ConfigError) as caught:
            own(source, state=state, **more)
        assert all(part in str(caught.value) for part in parts), str(caught.value)
    shuffled = state_of(own, outrider.table(rows, shuffle=True, seed=1))
    with pytest.raises(outrider.ConfigError, match="seed: 2, the state was made with 1"):
        own(outrider.table(rows, shuffle=True, seed=2), state=shuffled)


def test_S7_11_a_keyed_source_is_known_by_the_name_of_its_content(own):
    state = state_of(own, outrider.keyed(9, row, digest="v1"))
    own(outrider.keyed(9, Called(row), digest="v1"), state=state).close()
    for source, part in (
        (outrider.keyed(9, row, digest="v2"), "content: "),
        (outrider.keyed(8, row, digest="v1"), "size: 8"),
    ):
        with pytest.raises(outrider.ConfigError, match=part):
            own(source, state=state)


def pushed(index):
    return {"question": f"pushed {index}", "number": index}


def test_S1_11_prompts_are_pushed_and_the_run_ends_with_the_stream(own):
    run = own(outrider.stream())
    assert run.push("a", pushed(0)) is True
    assert run.push("a", pushed(0)) is False
    assert run.push(b"a", pa.RecordBatch.from_pylist([pushed(1)])) is True
    with pytest.raises(outrider.Conflict, match="pushed before with content"):
        run.push("a", pushed(5))
    assert run.push_many({"b": pushed(2), "a": pushed(0), 7: pushed(3)}) == 2
    with serving(run):
        run.push("last", pushed(4))
        run.end_stream()
        run.end_stream()
        with pytest.raises(outrider.Refused, match="stream has ended"):
            run.push("z", pushed(9))
        trained = train(run, 4)
    assert trained == {group: [f"pushed {group}"] * 2 for group in range(5)}
    assert run.close().books.acknowledged.groups == 5


async def test_S1_11_a_push_waits_for_room_or_is_refused(own):
    run = own(outrider.stream(waiting=2))
    assert await run.push_many_async([("a", pushed(0)), ("b", pushed(1))]) == 2
    with pytest.raises(outrider.Refused, match="no room for 1 more groups: 2 of at most 2 are unsettled"):
        run.push("c", pushed(2), wait=False)
    with pytest.raises(outrider.Refused, match="a push of 3 groups; at most 2"):
        run.push_many({index: pushed(index) for index in range(3)})
    waiting = asyncio.create_task(run.push_async("c", pushed(2)))
    with serving(run), outrider.Trainer(run) as trainer:
        assert (await trainer.next_async(0)).num_rows == 4
        assert await waiting is True
        await run.end_stream_async()
        assert [group.group for group in (await trainer.next_async(1)).groups()] == [2]


def test_S1_11_what_cannot_be_pushed_is_refused(own):
    run = own(outrider.stream())
    for call, error, message in (
        (lambda: run.push("", pushed(0)), outrider.ConfigError, "has 0 bytes"),
        (lambda: run.push(1.5, pushed(0)), outrider.ConfigError, "give text, bytes or an integer"),
        (lambda: run.push("a", [pushed(0)]), outrider.DataError, "push('a'): the row is a list"),
        (lambda: run.push("a", {}), outrider.DataError, "0 columns"),
        (lambda: run.push("a", pushed(0), wait=1), outrider.ConfigError, "give True or False"),
        (lambda: run.push_many(5), outrider.ConfigError, "a dict of rows by id"),
        (lambda: run.push("a", {"x": b"0" * (9 << 20)}), outrider.Refused, "at most 8388608 go at once"),
        (lambda: own(outrider.stream(waiting=1)), outrider.ConfigError, "waiting=1 groups is below batch_groups=2"),
        (lambda: own(outrider.stream(), ownership="none"), outrider.ConfigError, "keeps account of every push"),
        (lambda: outrider.stream(""), outrider.ConfigError, "names nothing"),
        (
            lambda: own(outrider.table([{"a": 1}])).push("a", pushed(0)),
            outrider.Refused,
            "the source of this run is no stream",
        ),
        (lambda: own(outrider.table([{"a": 1}])).end_stream(), outrider.Refused, "is no stream"),
    ):
        with pytest.raises(error) as caught:
            call()
        assert message in str(caught.value)


def test_S1_12_a_job_that_starts_again_pushes_again_and_nothing_doubles(own):
    everything = {f"id {index}": pushed(index) for index in range(6)}
    run = own(outrider.stream("mine"))
    run.push_many(everything)
    with serving(run), outrider.Trainer(run) as trainer:
        first = {group.group: group.label for group in trainer.next(0).groups()}
        state = run.state(0)
        trainer.next(1)
    run.close()
    with pytest.raises(outrider.ConfigError, match="content: "):
        own(outrider.stream("other"), state=state)
    with pytest.raises(
        outrider.ConfigError, match="kind: rows that are there from the start, the state was made with a stream"
    ):
        own(outrider.table([{"a": 1}]), state=state)
    run = own(outrider.stream("mine"), state=state)
    assert run.push_many(everything) == 0
    with pytest.raises(outrider.Conflict):
        run.push("id 0", pushed(1))
    run.end_stream()
    rest = {}
    with serving(run), outrider.Trainer(run, state_at=0, state=state) as trainer:
        for rollout in (1, 2):
            rest.update({group.group: group.label for group in trainer.next(rollout).groups()})
    assert {**first, **rest} == {group: [f"pushed {group}"] * 2 for group in range(6)}
    assert not set(first) & set(rest)
