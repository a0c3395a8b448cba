import numpy as np
import pyarrow as pa
import pytest

import outrider
from outrider.columns import TYPES
from outrider.sample import same_kind, to_batch, to_row


def batch(*samples):
    return to_batch([to_row(sample, 3, slot) for slot, sample in enumerate(samples)])


FULL = {
    "tokens": [1, 2, 3, 4],
    "response_length": 2,
    "logprobs": [-0.5, -1.5],
    "loss_mask": [True, False],
    "reward": 1,
    "versions": [(4, 1), (5, 1)],
    "trajectory": 7,
    "part": 1,
    "text": "gr\u00fc\u00df",
    "label": "x",
    "metadata": {"a": 1},
}


def test_S11_01_every_default_column_has_its_type_and_value():
    made = batch(outrider.Sample(**FULL), outrider.Sample(**FULL))
    for field in made.schema:
        assert field.type == TYPES[field.name], field.name
        assert not field.nullable
    assert set(made.schema.names) == set(TYPES)
    made.validate(full=True)
    row = made.to_pylist()[1]
    assert row["versions"] == [{"version": 4, "length": 1}, {"version": 5, "length": 1}]
    assert (row["group"], row["slot"], row["status"], row["loss_mask"]) == (3, 1, 0, [1, 0])
    assert row["metadata"] == '{"a": 1}'


def test_columns_that_nobody_has_are_left_out():
    made = batch(outrider.Sample([1], 1))
    assert set(made.schema.names) == {"group", "slot", "trajectory", "part", "tokens", "response_length", "status"}


def test_arrays_of_the_right_dtype_are_not_copied_until_they_are_gathered():
    tokens = np.arange(5, dtype=np.int32)
    assert to_row(outrider.Sample(tokens, 5), 0, 0)["tokens"] is tokens


def test_a_users_columns_keep_their_kind():
    made = batch(outrider.Sample([1], 1, score=2, ratio=0.5, note="n", values=np.float32([1, 2]), ids=[1, 2]))
    types = {name: made.schema.field(name).type for name in ("score", "ratio", "note")}
    assert types == {"score": pa.int64(), "ratio": pa.float64(), "note": pa.utf8()}
    assert made.schema.field("values").type.value_type == pa.float32()
    assert made.schema.field("ids").type.value_type == pa.int64()


def test_one_version_covers_the_response():
    assert batch(outrider.Sample([1, 2, 3], 2, versions=9)).to_pylist()[0]["versions"] == [{"version": 9, "length": 2}]


def test_the_users_identity_is_kept():
    row = to_row(outrider.Sample([1], 1, group=8, slot=1), 3, 0)
    assert (row["group"], row["slot"]) == (8, 1)


WRONG = [
    ({"tokens": [0.5]}, "column 'tokens': expected int32, found float64"),
    ({"tokens": [[1]]}, "column 'tokens': expected a 1-d array of int32, found 2 dimensions [1, 1]"),
    ({"tokens": [1 << 40] * 4}, "column 'tokens': expected int32, found a value of 1099511627776"),
    ({"response_length": 5}, "response_length=5, but the sample has 4 tokens; give 0 to 4"),
    ({"response_length": float("nan")}, "column 'response_length': expected int32, found nan (float)"),
    (
        {"logprobs": [1.0]},
        "column 'logprobs' has 1 values, response_length is 2; give one for each response token",
    ),
    (
        {"loss_mask": [1, 1, 1]},
        "column 'loss_mask' has 3 values, response_length is 2; give one for each response token",
    ),
    ({"loss_mask": [1, 2]}, "column 'loss_mask': expected 0 or 1, found 2"),
    (
        {"versions": [(1, 1)]},
        "column 'versions' covers 1 tokens, response_length is 2; its lengths must add up to it",
    ),
    ({"reward": "high"}, "column 'reward': expected float64, found 'high' (str)"),
    (
        {"status": "done"},
        "column 'status': expected one of 'completed', 'truncated', 'aborted', 'failed', found 'done'",
    ),
    (
        {"tokens": [[1, 2], [3]]},
        "column 'tokens': expected a 1-d array of int32, found sequences of different lengths",
    ),
    (
        {"logprobs": [0.5, None]},
        "column 'logprobs': expected a 1-d array of float32, found None (NoneType) at position 1",
    ),
    (
        {"tokens": [1, 1 << 70]},
        "column 'tokens': expected a 1-d array of int32, found 1180591620717411303424 (int) at position 1",
    ),
    ({"text": 3}, "column 'text': expected text, found 3 (int)"),
    ({"flag": True}, "column 'flag': expected numbers or text, found bool; masks are uint8"),
    (
        {"columns": {"x": 1.0, "flag": 2}},
        "column 'columns': expected a number, text, or a 1-d array of numbers, found a mapping; give each of ['flag', 'x'] as a column of its own",
    ),
    (
        {"image": np.zeros((2, 2))},
        "column 'image': expected a number, text, or a 1-d array of numbers, found float64 of shape [2, 2]",
    ),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[next(iter(change)) for change, _ in WRONG])
def test_S11_05_a_wrong_column_is_named_with_slot_and_group(change, message):
    with pytest.raises(outrider.DataError) as caught:
        to_row(outrider.Sample(**{**FULL, **change}), 3, 1)
    assert str(caught.value) == f"outrider: slot 1 of group 3: {message}"


def test_something_else_than_a_sample():
    with pytest.raises(outrider.DataError, match="slot 0 of group 3: a dict is no sample"):
        to_row({"tokens": []}, 3, 0)


def test_an_empty_list_has_the_type_of_its_groups_other_samples():
    def kinds(*values):
        rows = [to_row(outrider.Sample([1], 1, calls=value), 3, slot) for slot, value in enumerate(values)]
        return dict(same_kind(rows, 3))["calls"], to_batch(rows).column("calls").to_pylist()

    assert kinds([], [1, 2], ()) == ("list of int64", [[], [1, 2], []])
    assert kinds([np.float32(1)], []) == ("list of float32", [[1], []])
    assert kinds([], []) == ("list of float64", [[], []])
    for values in ([np.empty(0, np.int32), [1]], [[], "text"], [[], 1]):
        with pytest.raises(outrider.DataError, match="column 'calls' is list of"):
            kinds(*values)


def test_samples_of_a_group_have_the_same_columns():
    rows = [to_row(outrider.Sample([1], 1, reward=0.0), 3, 0), to_row(outrider.Sample([1], 1), 3, 1)]
    with pytest.raises(outrider.DataError) as caught:
        same_kind(rows, 3)
    assert str(caught.value) == (
        "outrider: group 3: column 'reward' is float64 in slot 0 and missing in slot 1; give every sample of a group the same columns"
    )
