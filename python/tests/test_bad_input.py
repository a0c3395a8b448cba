"""Bad input through every way in which a worker gives rows: refused before anything is published, with place, expected and found."""

import asyncio

import numpy as np
import pyarrow as pa
import pytest
from test_life import sample

import outrider


def rows(**columns):
    return pa.RecordBatch.from_pydict(
        {
            "tokens": pa.array([[1, 2], [3, 4]], pa.list_(pa.int32())),
            "response_length": pa.array([1, 1], pa.int32()),
            **columns,
        }
    )


def samples(**columns):
    """Two samples; a tuple has a value for each."""
    return [
        outrider.Sample(
            **{
                "tokens": [1, 2],
                "response_length": 1,
                **{name: value[slot] if isinstance(value, tuple) else value for name, value in columns.items()},
            }
        )
        for slot in range(2)
    ]


def lists(values, kind=None):
    return pa.array(values, pa.list_(kind or pa.int32()))


BAD = {
    "ragged rows": (
        rows(logprobs=lists([[0.0], [0.0, 1.0]], pa.float32())),
        'row 1, column "logprobs": expected 1 values, the row\'s response_length, found 2',
    ),
    "ragged lists": (samples(logprobs=([0.0], [0.0, 1.0])), "slot 1 .* 'logprobs' has 2 values, response_length is 1"),
    "ragged arrays": (
        samples(loss_mask=(np.ones(1, np.uint8), np.ones(2, np.uint8))),
        "slot 1 .* 'loss_mask' has 2 values, response_length is 1",
    ),
    "dtype in rows": (
        rows(loss_mask=lists([[1], [1]], pa.int64())),
        'column "loss_mask": expected type list<uint8>, found type list<int64>',
    ),
    "dtype in lists": (samples(tokens=([1, 2], [1.5, 2])), "slot 1 .* 'tokens': expected int32, found float64"),
    "dtype of arrays": (samples(tokens=(np.zeros(2), [1, 2])), "slot 0 .* 'tokens': expected int32, found float64"),
    "null in rows": (rows(tokens=lists([[1, 2], [3, None]])), 'row 1, column "tokens": expected a value .* found null'),
    "null in lists": (samples(tokens=([1, None], [1, 2])), "slot 0 .* 'tokens': .* found None .* at position 1"),
    "mask of rows": (
        rows(loss_mask=lists([[1], [2]], pa.uint8())),
        'group [0-9]+: row 1, column "loss_mask": expected 0 or 1 .* found 2',
    ),
    "mask of samples": (samples(loss_mask=([1], [2])), "slot 1 .* 'loss_mask': expected 0 or 1, found 2"),
    "response beyond tokens": (
        rows(response_length=pa.array([1, 3], pa.int32())),
        'row 1, column "response_length": expected 0 to 2, the row\'s tokens, found 3',
    ),
    "response without tokens": (
        rows().select(["response_length"]),
        'column "tokens": expected a list of domain token, because response_length counts its tail',
    ),
    "versions that do not add up": (
        rows(
            versions=pa.array(
                [[(3, 1)], [(3, 2)]], pa.list_(pa.struct([("version", pa.int64()), ("length", pa.int32())]))
            )
        ),
        'row 1, column "versions": expected lengths that add up to response_length, 1, found 2',
    ),
    "no such status": (
        rows(status=pa.array([0, 4], pa.uint8())),
        'row 1, column "status": expected 0 to 3, found 4',
    ),
    "failed in rows": (
        rows(status=pa.array([0, 3], pa.uint8())),
        r"slot 1 has status .failed. \(1 of 2 samples have\)",
    ),
    "failed in samples": (samples(status="failed"), r"slot 0 has status .failed. \(2 of 2 samples have\)"),
    "empty without a status in rows": (
        rows(response_length=pa.array([1, 0], pa.int32())),
        'row 1, column "status": expected a status, because response_length is 0 .* found no such column',
    ),
    "empty without a status in samples": (
        samples(response_length=(1, 0)),
        "slot 1 .* an empty response says itself what it is; give status=",
    ),
    "no identity": (rows().slice(0, 1), "1 rows without a column 'group', group_size is 2"),
    "rows of another group": (
        rows(group=pa.array([99, 99]), slot=pa.array([0, 1], pa.int32())),
        "carries the identity of group 99 instead of",
    ),
    "too few samples": (samples()[:1], "got 1 entries, group_size is 2"),
    "a column twice": (
        pa.RecordBatch.from_arrays([*rows().columns, rows().column(0)], names=[*rows().schema.names, "tokens"]),
        "tokens",
    ),
    "NaN for a length in rows": (
        rows(response_length=pa.array([1.0, float("nan")])),
        'column "response_length": expected type int32, found type float64',
    ),
    "NaN for a length in samples": (
        samples(response_length=(1, float("nan"))),
        "slot 1 .* 'response_length': expected int32, found nan",
    ),
}


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
async def test_S11_05_bad_input_is_refused_before_anything_is_published(own, data, message):
    run = own(count=4, policy=outrider.Policy(max_failed=1.0))
    with outrider.Worker(run, slots=4) as worker:
        works = worker.groups()
        with pytest.raises(outrider.DataError, match=message):
            next(works).complete(data)
        with pytest.raises(outrider.DataError, match=message):
            await next(works).complete_async(data)
        stats = run.stats()
        assert (stats.bytes.used, stats.completed.used) == (0, 0)


@pytest.mark.parametrize(
    "case", ["ragged lists", "ragged arrays", "dtype in lists", "null in lists", "NaN for a length in samples"]
)
async def test_S11_05_bad_samples_of_a_served_function_fail_their_group_and_are_named(own, case):
    data, message = BAD[case]
    run = own(count=2, policy=outrider.Policy(max_attempts=1, max_failed=1))
    with outrider.Worker(run, slots=2) as worker, pytest.raises(outrider.RunFailed, match=message):
        await worker.serve(lambda prompt: data[prompt.slot])


BATCHES = {name: (data, message) for name, (data, message) in BAD.items() if isinstance(data, pa.RecordBatch)}


@pytest.mark.parametrize(("batch", "message"), BATCHES.values(), ids=BATCHES)
async def test_S11_05_bad_input_to_complete_many_is_refused_before_anything_is_published(own, batch, message):
    run = own(count=4, policy=outrider.Policy(max_failed=1.0))
    with outrider.Worker(run, slots=4) as worker:
        works = worker.groups()
        with pytest.raises(outrider.DataError, match=message):
            worker.complete_many([next(works)], batch)
        with pytest.raises(outrider.DataError, match=message):
            await worker.complete_many_async([next(works)], batch)
        stats = run.stats()
        assert (stats.bytes.used, stats.completed.used) == (0, 0)


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
async def test_S11_05_bad_input_to_an_offer_is_refused_before_anything_is_published(own, data, message):
    if isinstance(data, pa.RecordBatch) and "group" in data.schema.names:
        message = "leave the column 'group' out"
    message = message.replace(" .* ", " ?.* ")  # a sample's group has no number yet
    run = own(source=outrider.stream(), policy=outrider.Policy(max_failed=1.0))
    with outrider.Worker(run, engine=False) as worker, outrider.Trainer(run):
        with pytest.raises(outrider.DataError, match=message):
            worker.offer("a", {"q": 1}, data)
        with pytest.raises(outrider.DataError, match=message):
            await worker.offer_async("a", {"q": 1}, data)
        stats = run.stats()
        assert (stats.bytes.used, stats.completed.used) == (0, 0)


def test_S11_05_a_bad_group_is_refused_and_its_neighbours_in_the_segment_are_taken(own):
    run = own(count=4, epochs=1, policy=outrider.Policy(max_failed=1.0))
    with outrider.Worker(run, slots=8) as worker, outrider.Trainer(run) as trainer:
        groups = worker.groups()
        works = [next(groups) for _ in range(4)]
        assert [work.group for work in works] == [0, 1, 2, 3]
        lengths = pa.array([1, 1, 1, 1, 1, 3, 1, 1], pa.int32())
        batch = pa.RecordBatch.from_pydict({"tokens": lists([[1, 2]] * 8), "response_length": lengths})
        wrong = 'group 2: row 1, column "response_length": expected 0 to 2, the row\'s tokens, found 3'
        with pytest.raises(outrider.DataError, match=wrong):
            worker.complete_many(works, batch)
        again = next(groups)
        assert (again.group, again.attempt) == (2, 2)
        again.complete(rows())
        assert [[g.group for g in trainer.next(step).groups()] for step in (0, 1)] == [[0, 1], [2, 3]]


def test_S11_16_a_column_has_one_type_in_the_groups_of_a_run_and_a_group_may_be_without_it(own):
    run = own(count=3, batch_groups=2, epochs=1, policy=outrider.Policy(max_failed=1.0))
    with outrider.Worker(run, slots=2) as worker, outrider.Trainer(run) as trainer:
        groups = worker.groups()
        next(groups).complete(samples(score=1))
        second = next(groups)
        with pytest.raises(
            outrider.DataError, match='group 1: column "score" is float64, in group 0 it is int64; write it'
        ):
            second.complete(samples(score=0.5))
        by_group = {}
        for _ in range(2):
            work = next(groups)
            by_group[work.group] = work.attempt
            work.complete(samples(score=2) if work.group == 1 else samples())
        assert by_group == {1: 2, 2: 1}
        first, last = trainer.next(0), trainer.next(1)
        scores = {g.group: g.column("score").to_pylist() for g in (*first.groups(), *last.groups()) if g.group != 2}
        assert scores == {0: [1, 1], 1: [2, 2]}


async def test_S2_13_a_failed_sample_is_a_failed_attempt_and_an_empty_answer_says_that_it_is_one(own):
    run = own(count=3, batch_groups=1, epochs=1, policy=outrider.Policy(max_attempts=2, max_failed=1.0))
    seen = []

    async def generate(prompt):
        seen.append((prompt.group, prompt.attempt))
        if prompt.group == 1 or (prompt.group == 0 and prompt.attempt == 1):
            return outrider.Sample([1], 0, reward=0.0, status="failed" if prompt.slot else "completed")
        return (
            outrider.Sample([1, 2], 1, loss_mask=[0], reward=0.0)
            if prompt.slot
            else outrider.Sample([1], 0, loss_mask=[], reward=0.0, status="completed")
        )

    with outrider.Worker(run, slots=2) as worker, outrider.Trainer(run) as trainer:
        serving = asyncio.create_task(worker.serve(generate))
        batches = [await trainer.next_async(rollout) for rollout in (0, 1)]
        with pytest.raises(outrider.EndOfRun):
            await trainer.next_async(2)
        assert sorted((g.group, g.attempt) for batch in batches for g in batch.groups()) == [(0, 2), (2, 1)]
        assert [batch.column("response_length").to_pylist() for batch in batches] == [[0, 1], [0, 1]]
        assert (await run.stats_async()).books.failed.groups == 1
        await run.close_async()
        await serving
    assert {attempt for group, attempt in seen if group == 1} == {1, 2}


def test_S2_04_a_foreign_identity_is_refused_and_named(own):
    run = own()
    with outrider.Worker(run, slots=2) as worker:
        work = next(worker.groups())
        with pytest.raises(outrider.Error) as caught:
            work.complete([outrider.Sample([1], 1, group=work.group + 5), outrider.Sample([1], 1)])
    message = str(caught.value)
    assert str(work.group) in message
    assert str(work.group + 5) in message


def test_S11_05_lists_of_one_domain_with_different_lengths_are_refused_and_named(own):
    run = own()
    rows = pa.RecordBatch.from_pydict(
        {
            "tokens": pa.array([[1, 2], [3, 4]], pa.list_(pa.int32())),
            "response_length": pa.array([1, 2], pa.int32()),
            "logprobs": pa.array([[0.0], [0.0]], pa.list_(pa.float32())),
        }
    )
    with outrider.Worker(run, slots=2) as worker:
        work = next(worker.groups())
        with pytest.raises(outrider.DataError) as caught:
            work.complete(rows)
    for word in ("row 1", "logprobs", "2", "1"):
        assert word in str(caught.value)


WRONG_COLUMNS = [
    ("tokens", pa.array([[1.0], [2.0]], pa.list_(pa.float64()))),
    ("response_length", pa.array([1, None], pa.int32())),
    ("reward", pa.array(["a", "b"])),
]


@pytest.mark.parametrize(("name", "column"), WRONG_COLUMNS, ids=[name for name, _ in WRONG_COLUMNS])
def test_S11_05_a_column_of_a_wrong_type_or_with_nulls_is_refused_and_named(own, name, column):
    run = own()
    columns = {
        "tokens": pa.array([[1], [2]], pa.list_(pa.int32())),
        "response_length": pa.array([1, 1], pa.int32()),
        name: column,
    }
    with outrider.Worker(run, slots=2) as worker:
        work = next(worker.groups())
        with pytest.raises(outrider.DataError) as caught:
            work.complete(pa.RecordBatch.from_pydict(columns))
    assert name in str(caught.value)


def test_S11_05_a_ragged_group_is_refused_before_anything_is_written(own):
    run = own()
    with outrider.Worker(run, slots=2) as worker:
        work = next(worker.groups())
        with pytest.raises(outrider.DataError) as caught:
            work.complete([sample(work.prompt(0))])
        assert str(caught.value) == (
            f"outrider: group {work.group}: got 1 entries, group_size is 2; give one Sample, or a list of Samples, for each slot"
        )
        short = pa.RecordBatch.from_pydict({"tokens": pa.array([[1]], pa.list_(pa.int32()))})
        with pytest.raises(outrider.DataError) as caught:
            work.complete(short)
        assert str(caught.value) == (
            f"outrider: group {work.group}: 1 rows without a column 'group', group_size is 2; add the column, or give one row a slot"
        )
        assert work.complete([sample(work.prompt(slot)) for slot in range(2)])
