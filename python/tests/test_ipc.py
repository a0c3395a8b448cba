import json
import os
import subprocess

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import outrider
from outrider import _ipc
from outrider._memory import write_stream
from outrider._segment import Segment
from outrider._sidecar import find_binary
from outrider.batch import Batch, Part
from outrider.sample import to_batch, to_row

LEAVES = st.sampled_from(
    [pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.utf8()]
)


def named(fields):
    return [pa.field(name, kind, nullable=False) for name, kind in fields.items()]


KINDS = st.recursive(
    LEAVES,
    lambda inner: (
        inner.map(lambda kind: pa.list_(pa.field("item", kind, nullable=False)))
        | st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, min_size=1, max_size=3).map(
            lambda fields: pa.struct(named(fields))
        )
    ),
    max_leaves=4,
)


def values(kind):
    if pa.types.is_list(kind):
        return st.lists(values(kind.value_type), max_size=4)
    if pa.types.is_struct(kind):
        return st.fixed_dictionaries({field.name: values(field.type) for field in kind})
    if pa.types.is_string(kind):
        return st.text(max_size=5)
    if pa.types.is_floating(kind):
        return st.floats(width=kind.bit_width)
    limits = np.iinfo(kind.to_pandas_dtype())
    return st.integers(int(limits.min), int(limits.max))


@st.composite
def streams(draw):
    kinds = draw(st.lists(KINDS, min_size=1, max_size=4))
    schema = pa.schema([pa.field(f"c{i}", kind, nullable=False) for i, kind in enumerate(kinds)])
    batches = [
        pa.RecordBatch.from_arrays(
            [pa.array(draw(st.lists(values(kind), min_size=rows, max_size=rows)), kind) for kind in kinds],
            schema=schema,
        )
        for rows in draw(st.lists(st.integers(1, 20), max_size=2))
    ]
    return schema, batches


def joined(pieces):
    return b"".join(bytes(memoryview(piece)) for piece in pieces)


def buffers(array):
    """All buffers of an array and its children; empty ones have no place worth a boundary."""
    return [buffer for buffer in array.buffers() if buffer is not None and buffer.size]


@settings(deadline=None, max_examples=50)
@given(streams())
def test_S11_01_a_stream_reads_back_equal_with_every_buffer_on_a_boundary(made):
    schema, batches = made
    data = pa.py_buffer(joined(_ipc.stream(schema, batches)))
    with pa.ipc.open_stream(data) as reader:
        read = list(reader)
        assert reader.schema.equals(schema, check_metadata=True)
    assert len(read) == len(batches)
    for got, want in zip(read, batches, strict=True):
        got.validate(full=True)
        assert repr(got.to_pylist()) == repr(want.to_pylist())
        assert all((b.address - data.address) % 64 == 0 for column in got.columns for b in buffers(column))


@settings(deadline=None, max_examples=10)
@given(streams())
def test_S11_01_the_sidecar_reads_it(tmp_path_factory, made):
    schema, batches = made
    path = tmp_path_factory.mktemp("stream") / "made.arrows"
    path.write_bytes(joined(_ipc.stream(schema, batches)))
    run = subprocess.run([find_binary(), "arrow", "verify", path], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)["rows"] == sum(batch.num_rows for batch in batches)


def test_what_it_leaves_to_pyarrow_is_written_all_the_same():
    numbers = pa.array(np.arange(100_000), pa.int64())
    for column in (
        numbers.slice(7),
        pa.array([None, *range(99_999)], pa.int64()),
        pa.array([[1, 2]] * 99_999 + [[3]]).slice(1),
        pa.array([True, False] * 400_000),
        pa.DictionaryArray.from_arrays(pa.array([0, 1] * 400_000), pa.array(["a", "b"])),
    ):
        batch = pa.RecordBatch.from_arrays([column], ["c"])
        assert _ipc.stream(batch.schema, [batch]) is None
        (read,) = Segment(write_stream(batch.schema, [batch], "test")).batches
        assert read.equals(batch)


def test_a_schema_is_not_taken_for_one_of_other_metadata():
    def made(domain):
        field = pa.field(
            "c", pa.list_(pa.field("item", pa.int32(), nullable=False)), metadata={"outrider.domain": domain}
        )
        batch = pa.RecordBatch.from_arrays([pa.array([[1]], field.type)], schema=pa.schema([field]))
        with pa.ipc.open_stream(joined(_ipc.stream(batch.schema, [batch]))) as reader:
            return reader.schema.field("c").metadata[b"outrider.domain"]

    assert [made("token"), made("free"), made("token")] == [b"token", b"free", b"token"]


def test_pieces_beyond_what_one_call_takes_are_all_written():
    pieces = [bytes([i % 251]) * (i % 7) for i in range(3000)]
    fd = os.memfd_create("test")
    try:
        _ipc.write(fd, pieces)
        assert os.pread(fd, 1 << 20, 0) == b"".join(pieces)
    finally:
        os.close(fd)


def test_jax_takes_a_large_view_in_place():
    jax = pytest.importorskip("jax")
    rows = [
        to_row(outrider.Sample(np.arange(n), n, logprobs=np.full(n, 0.5)), 3, slot)
        for slot, n in enumerate((70_001, 70_002))
    ]
    batch = to_batch(rows)
    part = Part(3, 1, ((Segment(write_stream(batch.schema, [batch], "test")), 0),), 2)
    group = next(Batch(0, 0, [part]).groups())
    for view in (group.tokens, group.logprobs):
        taken = jax.dlpack.from_dlpack(view)
        assert taken.unsafe_buffer_pointer() == view.__array_interface__["data"][0]


@pytest.mark.parametrize("values", [10, 100_000, 2_000_000])
def test_what_was_written_cannot_be_changed(values: int) -> None:
    batch = pa.record_batch({"reward": pa.array(np.zeros(values))})
    fd = write_stream(batch.schema, [batch], "test")
    try:
        for change in (lambda: os.pwrite(fd, b"x", 0), lambda: os.ftruncate(fd, 0), lambda: os.ftruncate(fd, 1 << 30)):
            with pytest.raises(PermissionError):
                change()
        (read,) = Segment(os.dup(fd)).batches
        assert read.num_rows == values
    finally:
        os.close(fd)


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("dictionary", [False, True])
def test_streams_are_read_as_pyarrow_reads_them(count: int, dictionary: bool) -> None:
    words = pa.array(["a", "b", "a"])
    column = pa.array([[1], [], [2, 3]]) if not dictionary else words.dictionary_encode()
    batches = [pa.record_batch({"words": words, "column": column}) for _ in range(count)]
    schema = pa.schema([("words", pa.utf8()), ("column", column.type)], metadata={"k": str(count)})
    batches = [batch.replace_schema_metadata(schema.metadata) for batch in batches]
    segment = Segment(write_stream(schema, batches, "test"))
    assert segment.batches == batches
    assert all(batch.schema.equals(schema, check_metadata=True) for batch in segment.batches)
    assert [rows.num_rows for rows in segment.rows(0, 3 * count)] == [3] * count
