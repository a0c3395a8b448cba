"""Bad input through every way in which a worker gives rows: refused before anything is published, with place, expected and found."""

import numpy as np
import pyarrow as pa
import pytest

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
    with outrider.Worker(run, slots=2) as worker, pytest.raises(outrider.SourceError, match=message):
        await worker.serve(lambda prompt: data[prompt.slot])
