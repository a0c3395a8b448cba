import dataclasses
import inspect

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
        "outrider: limits.executing=True is a bool, not an integer; give a whole number, from 1 to 4398046511104",
    ),
    (
        lambda: outrider.Limits(retained=1.5),
        "outrider: limits.retained=1.5 is a float, not an integer; give a whole number, from 1 to 4398046511104",
    ),
    (
        lambda: outrider.Limits(completed=0),
        "outrider: limits.completed=0 is out of range; give a whole number, from 1 to 4398046511104",
    ),
    (
        lambda: outrider.Limits(executing=-3),
        "outrider: limits.executing=-3 is out of range; give a whole number, from 1 to 4398046511104",
    ),
    (
        lambda: outrider.Limits(retained=float("nan")),
        "outrider: limits.retained=nan is a float, not an integer; give a whole number, from 1 to 4398046511104",
    ),
    (
        lambda: outrider.Limits(executing=1 << 70),
        "outrider: limits.executing=1180591620717411303424 is out of range; give a whole number, from 1 to 4398046511104",
    ),
    (
        lambda: outrider.Limits(bytes="four"),
        "outrider: limits.bytes='four' is no size; give bytes as an integer or text such as '4GiB' or '500MB'",
    ),
    (lambda: outrider.Limits(bytes=0), "outrider: limits.bytes=0 is out of range; give a whole number, at least 1"),
    (
        lambda: outrider.Limits(bytes="9" * 400),
        f"outrider: limits.bytes='{'9' * 79}... is no size; give bytes as an integer or text such as '4GiB' or '500MB'",
    ),
    (
        lambda: outrider.Limits(bytes="9" * 30),
        f"outrider: limits.bytes={'9' * 30} is out of range; give a whole number, at least 1",
    ),
    (
        lambda: outrider.Limits(executing=10**5000),
        "outrider: limits.executing=<int: ValueError> is out of range; give a whole number, from 1 to 4398046511104",
    ),
    (
        lambda: outrider.Limits(executing=np.True_),
        "outrider: limits.executing=np.True_ is a bool, not an integer; give a whole number, from 1 to 4398046511104",
    ),
    (
        lambda: outrider.Policy(order=np.array(["fifo", "lifo"])),
        "outrider: policy.order=array(['fifo', 'lifo'], dtype='<U4') is unknown; choose one of 'fifo', 'lifo', 'windowed', 'freshest'",
    ),
    (
        lambda: outrider.Policy(join_timeout=10**400),
        f"outrider: policy.join_timeout=1{'0' * 79}... is out of range; give a number from 0.001 to 3.16224e+07",
    ),
    (
        lambda: outrider.Policy(order="random"),
        "outrider: policy.order='random' is unknown; choose one of 'fifo', 'lifo', 'windowed', 'freshest'",
    ),
    (
        lambda: outrider.Policy(order="windowed", window=0),
        "outrider: policy.window=0 is out of range; give a whole number, from 1 to 4398046511104",
    ),
    (
        lambda: outrider.Policy(max_requeues=0),
        "outrider: policy.max_requeues=0 is out of range; give a whole number, from 1 to 254",
    ),
    (lambda: outrider.Policy(pace=1), "outrider: policy.pace=1 is a int; give True or False"),
    (
        lambda: outrider.Policy(batches_per_update=0),
        "outrider: policy.batches_per_update=0 is out of range; give a whole number, from 1 to 1048576",
    ),
    (
        lambda: outrider.Policy(last_batch="next"),
        "outrider: policy.last_batch='next' is unknown; choose one of 'short', 'drop', 'next_epoch'",
    ),
    (
        lambda: outrider.Policy(max_staleness=-1),
        "outrider: policy.max_staleness=-1 is out of range; give a whole number, from 0 to 1048576",
    ),
    (
        lambda: outrider.Policy(max_staleness=False),
        "outrider: policy.max_staleness=False is a bool, not an integer; give a whole number, from 0 to 1048576",
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
        "outrider: policy.join_window=inf is out of range; give a number from 0.001 to 3600",
    ),
    (
        lambda: outrider.Policy(max_attempts=0),
        "outrider: policy.max_attempts=0 is out of range; give a whole number, from 1 to 255",
    ),
    (
        lambda: outrider.table([{"a": 1}], epochs=0),
        "outrider: epochs=0 is out of range; give a whole number, at least 1",
    ),
    (
        lambda: outrider.table([{"a": 1}], shuffle=1),
        "outrider: shuffle=1 is a int; give True or False",
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
    ({"group_size": 0}, "outrider: group_size=0 is out of range; give a whole number, from 1 to 1048576"),
    (
        {"batch_groups": 2.0},
        "outrider: batch_groups=2.0 is a float, not an integer; give a whole number, from 1 to 1048576",
    ),
    ({"limits": {"executing": 4}}, "outrider: limits={'executing': 4} is a dict; give an outrider.Limits(...)"),
    ({"ownership": "some"}, "outrider: ownership='some' is unknown; choose one of 'leases', 'none'"),
    ({"state": "text"}, "outrider: state='text' is a str; give the bytes of run.state(R)"),
]


@pytest.mark.parametrize(("wrong", "message"), OWNS, ids=[next(iter(wrong)) for wrong, _ in OWNS])
def test_S3_04_a_wrong_argument_of_own_is_refused_before_anything_starts(wrong, message, monkeypatch):
    monkeypatch.setenv("OUTRIDER_BINARY", "/nothing/is/started")
    right = {"name": "r", "source": outrider.table([{"a": 1}]), "group_size": 2, "batch_groups": 2}
    arguments = {**right, **wrong}
    assert refused(lambda: outrider.own(arguments.pop("name"), **arguments)) == message


def test_S3_04_all_that_is_wrong_with_a_call_is_in_one_message(monkeypatch):
    monkeypatch.setenv("OUTRIDER_BINARY", "/nothing/is/started")
    assert refused(
        lambda: outrider.Limits(executing=True, retained=-1, completed=1 << 60, bytes="much")
    ).splitlines() == [
        "outrider: 4 arguments cannot work:",
        "  limits.executing=True is a bool, not an integer; give a whole number, from 1 to 4398046511104",
        "  limits.retained=-1 is out of range; give a whole number, from 1 to 4398046511104",
        "  limits.completed=1152921504606846976 is out of range; give a whole number, from 1 to 4398046511104",
        "  limits.bytes='much' is no size; give bytes as an integer or text such as '4GiB' or '500MB'",
    ]
    every = {field.name: object() for field in dataclasses.fields(outrider.Policy)}
    message = refused(lambda: outrider.Policy(**every))
    assert {line.split("=")[0].strip() for line in message.splitlines()[1:]} == {f"policy.{name}" for name in every}
    arguments = inspect.signature(outrider.own).parameters
    wrong = {name: object() for name in arguments}
    for call in (outrider.own, outrider.start):
        message = refused(lambda call=call: call(wrong["name"], **{n: v for n, v in wrong.items() if n != "name"}))
        assert {line.split("=")[0].strip() for line in message.splitlines()[1:]} == set(arguments)
    wrong = {"shuffle": 1, "seed": -1, "epochs": 0}
    for source in (lambda: outrider.table([], **wrong), lambda: outrider.keyed(0, 7, digest="", schema=7, **wrong)):
        assert all(f"  {name}={value} is " in refused(source) for name, value in wrong.items())
    assert "table(rows) has 0 rows" in refused(lambda: outrider.table([], **wrong))
    assert refused(lambda: outrider.keyed(0, 7, digest="", schema=7)).count("\n") == 4
    assert refused(lambda: outrider.stream("", waiting=0)).count("\n") == 2
    assert refused(lambda: outrider.data_source(7, name="", row=7, cursor=7)).count("\n") == 5


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9007199254740993", (1 << 53) + 1),
        ("4GiB", 4 << 30),
        ("500MB", 500_000_000),
        ("1.5 KiB", 1536),
        ("10", 10),
        (np.int64(7), 7),
        ("2b", 2),
    ],
)
def test_sizes(text, value):
    assert outrider.Limits(bytes=text).bytes == value


def test_numpy_numbers_are_numbers():
    assert outrider.Limits(executing=np.int32(8)).executing == 8
    assert outrider.Policy(max_failed=np.float32(0.5)).max_failed == 0.5


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
