import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import outrider


def refused(function):
    with pytest.raises(outrider.ConfigError) as caught:
        function()
    return str(caught.value)


MISTAKES = [
    (
        lambda: outrider.Limits(executing=True),
        "outrider: limits.executing=True is a bool, not an integer; give a whole number, at least 1",
    ),
    (
        lambda: outrider.Limits(retained=1.5),
        "outrider: limits.retained=1.5 is a float, not an integer; give a whole number, at least 1",
    ),
    (
        lambda: outrider.Limits(completed=0),
        "outrider: limits.completed=0 is out of range; give a whole number, at least 1",
    ),
    (
        lambda: outrider.Limits(executing=-3),
        "outrider: limits.executing=-3 is out of range; give a whole number, at least 1",
    ),
    (
        lambda: outrider.Limits(retained=float("nan")),
        "outrider: limits.retained=nan is a float, not an integer; give a whole number, at least 1",
    ),
    (
        lambda: outrider.Limits(executing=1 << 70),
        "outrider: limits.executing=1180591620717411303424 is out of range; give a whole number, at least 1",
    ),
    (
        lambda: outrider.Limits(bytes="four"),
        "outrider: limits.bytes='four' is no size; give bytes as an integer or text such as '4GiB' or '500MB'",
    ),
    (lambda: outrider.Limits(bytes=0), "outrider: limits.bytes=0 is out of range; give a whole number, at least 1"),
    (
        lambda: outrider.Policy(order="random"),
        "outrider: policy.order='random' is unknown; choose one of 'fifo', 'lifo', 'windowed', 'freshest'",
    ),
    (
        lambda: outrider.Policy(order="windowed", window=0),
        "outrider: policy.window=0 is out of range; give a whole number, at least 1",
    ),
    (
        lambda: outrider.Policy(max_requeues=0),
        "outrider: policy.max_requeues=0 is out of range; give a whole number, from 1 to 254",
    ),
    (lambda: outrider.Policy(pace=1), "outrider: policy.pace=1 is a int; give True or False"),
    (
        lambda: outrider.Policy(batches_per_update=0),
        "outrider: policy.batches_per_update=0 is out of range; give a whole number, from 1 to 2147483647",
    ),
    (
        lambda: outrider.Policy(last_batch="next"),
        "outrider: policy.last_batch='next' is unknown; choose one of 'short', 'drop', 'next_epoch'",
    ),
    (
        lambda: outrider.Policy(max_staleness=-1),
        "outrider: policy.max_staleness=-1 is out of range; give a whole number, at least 0",
    ),
    (
        lambda: outrider.Policy(max_staleness=False),
        "outrider: policy.max_staleness=False is a bool, not an integer; give a whole number, at least 0",
    ),
    (
        lambda: outrider.Policy(max_failed=float("nan")),
        "outrider: policy.max_failed=nan is out of range; give a number from 0 to 1",
    ),
    (
        lambda: outrider.Policy(max_failed=True),
        "outrider: policy.max_failed=True is a bool, not a number; give one from 0 to 1",
    ),
    (
        lambda: outrider.Policy(join_window=float("inf")),
        "outrider: policy.join_window=inf is out of range; give a number from 0 to 3600",
    ),
    (
        lambda: outrider.Policy(max_attempts=0),
        "outrider: policy.max_attempts=0 is out of range; give a whole number, from 1 to 4294967295",
    ),
    (
        lambda: outrider.table([{"a": 1}], epochs=0),
        "outrider: epochs=0 is out of range; give a whole number, at least 1",
    ),
    (
        lambda: outrider.table([{"a": 1}], shuffle=1),
        "outrider: table(shuffle=1) is a int; give True or False",
    ),
    (
        lambda: outrider.table(5),
        "outrider: table(rows) is a int; give a pyarrow.Table, a list of dicts, or paths of Parquet or Arrow files",
    ),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[message[10:50] for _, message in MISTAKES])
def test_S3_04_a_number_or_word_that_cannot_work_is_named(mistake, message):
    assert refused(mistake) == message


OWNS = [
    ({"name": ""}, "outrider: name='' cannot name a run; give 1 to 128 printable characters without '/'"),
    ({"name": "a/b"}, "outrider: name='a/b' cannot name a run; give 1 to 128 printable characters without '/'"),
    (
        {"source": [1]},
        "outrider: source=list is no source; give outrider.table(rows), outrider.keyed(length, row), outrider.stream() or outrider.data_source(source)",
    ),
    ({"group_size": 0}, "outrider: group_size=0 is out of range; give a whole number, from 1 to 2147483647"),
    (
        {"batch_groups": 2.0},
        "outrider: batch_groups=2.0 is a float, not an integer; give a whole number, from 1 to 2147483647",
    ),
    ({"limits": {"executing": 4}}, "outrider: limits={'executing': 4} is a dict; give an outrider.Limits(...)"),
    ({"ownership": "some"}, "outrider: ownership='some' is unknown; choose one of 'leases', 'none'"),
    ({"state": "text"}, "outrider: state=str is no state; give the bytes of run.state(R)"),
]


@pytest.mark.parametrize(("wrong", "message"), OWNS, ids=[next(iter(wrong)) for wrong, _ in OWNS])
def test_S3_04_a_wrong_argument_of_own_is_refused_before_anything_starts(wrong, message, monkeypatch):
    monkeypatch.setenv("OUTRIDER_BINARY", "/nothing/is/started")
    right = {"name": "r", "source": outrider.table([{"a": 1}]), "group_size": 2, "batch_groups": 2}
    arguments = {**right, **wrong}
    assert refused(lambda: outrider.own(arguments.pop("name"), **arguments)) == message


@pytest.mark.parametrize(
    ("text", "value"),
    [("4GiB", 4 << 30), ("500MB", 500_000_000), ("1.5 KiB", 1536), ("10", 10), (np.int64(7), 7), ("2b", 2)],
)
def test_sizes(text, value):
    assert outrider.Limits(bytes=text).bytes == value


def test_numpy_integers_are_integers():
    assert outrider.Limits(executing=np.int32(8)).executing == 8


def test_S1_04_an_empty_source_is_refused_at_start():
    for empty in ([], pa.table({"a": pa.array([], pa.int64())})):
        assert (
            refused(lambda empty=empty: outrider.table(empty))
            == "outrider: table(rows) has 0 rows; a run needs at least 1 prompt"
        )


def test_rows_of_different_types_are_refused():
    message = refused(lambda: outrider.table([{"a": 1}, {"a": "x"}]))
    assert message.startswith("outrider: table(rows) cannot be made into columns: ")
    assert message.endswith("; give every row the same keys and each key one type")


def test_a_table_comes_from_files(tmp_path):
    whole = pa.table({"question": ["a", "\u00fc"], "n": [1, 2]})
    pyarrow.parquet.write_table(whole, tmp_path / "rows.parquet")
    with pa.OSFile(str(tmp_path / "rows.arrows"), "wb") as sink, pa.ipc.new_stream(sink, whole.schema) as writer:
        writer.write_table(whole)
    with pa.OSFile(str(tmp_path / "rows.arrow"), "wb") as sink, pa.ipc.new_file(sink, whole.schema) as writer:
        writer.write_table(whole)
    names = ["rows.parquet", "rows.arrows", "rows.arrow"]
    for name in names:
        assert outrider.table(tmp_path / name).rows.equals(whole)
    assert outrider.table([tmp_path / name for name in names]).rows.num_rows == 6
    message = refused(lambda: outrider.table(tmp_path / "missing"))
    assert message.endswith("; give a Parquet file or an Arrow file or stream")
