import ctypes
import gc
import os
import pickle
import weakref

import numpy as np
import pyarrow as pa
import pytest

import outrider
from outrider._memory import Mapping, write_stream
from outrider._segment import Segment
from outrider.batch import Batch, Part
from outrider.sample import to_batch, to_row


def rows_of(group, *lengths, **more):
    samples = [
        outrider.Sample(
            np.arange(n) + 100 * group,
            n,
            logprobs=np.full(n, 0.5),
            reward=group + slot / 10,
            text=f"\u00e4{slot}",
            status="completed",
            **more,
        )
        for slot, n in enumerate(lengths)
    ]
    return [to_row(sample, group, slot) for slot, sample in enumerate(samples)]


def segment(*batches):
    return Segment(write_stream(batches[0].schema, list(batches), "test"))


@pytest.fixture
def shared():
    """Groups 3, 4 and 5 in one segment, group 6 in another."""
    first = segment(to_batch(rows_of(3, 2, 1) + rows_of(4, 3, 0) + rows_of(5, 1, 1)))
    second = segment(to_batch(rows_of(6, 2, 2)))
    parts = [
        Part(3, 1, ((first, 0),), 2),
        Part(4, 1, ((first, 2),), 2),
        Part(5, 2, ((first, 4),), 2),
        Part(6, 1, ((second, 0),), 2),
    ]
    return Batch(7, 70, parts)


def lies_in(array, mapping):
    start = array.__array_interface__["data"][0]
    return mapping.address <= start and start + array.nbytes <= mapping.address + mapping.size


def test_S11_02_every_view_lies_in_the_mapping(monkeypatch):
    made = []

    class Watched(Mapping):
        def __init__(self, fd):
            super().__init__(fd)
            made.append(self)

    monkeypatch.setattr("outrider._memory.Mapping", Watched)
    part = Part(3, 1, ((segment(to_batch(rows_of(3, 2, 1))), 0),), 2)
    (group,) = Batch(0, 0, [part]).groups()
    for name in ("tokens", "logprobs", "reward", "response_length", "slot"):
        assert lies_in(getattr(group, name), made[0]), name
    assert lies_in(group.cu_seqlens, made[0])


def test_groups_are_views_of_their_rows(shared):
    groups = list(shared.groups())
    assert [(g.group, g.attempt) for g in groups] == [(3, 1), (4, 1), (5, 2), (6, 1)]
    assert [g.tokens.tolist() for g in groups] == [[300, 301, 300], [400, 401, 402], [500, 500], [600, 601, 600, 601]]
    assert [g.cu_seqlens.tolist() for g in groups] == [[0, 2, 3], [0, 3, 3], [0, 1, 2], [0, 2, 4]]
    assert groups[0].cu_seqlens.dtype == np.int32
    assert groups[1].text == ["\u00e40", "\u00e41"]
    assert groups[1].offsets("logprobs").tolist() == [0, 3, 3]


def test_packed_gathers_the_whole_shard(shared):
    packed = shared.packed("tokens", "logprobs", "reward")
    assert packed.tokens.tolist() == [300, 301, 300, 400, 401, 402, 500, 500, 600, 601, 600, 601]
    assert packed.cu_seqlens.tolist() == [0, 2, 3, 6, 6, 7, 8, 10, 12]
    assert packed["reward"].tolist() == shared.reward.tolist() == [3.0, 3.1, 4.0, 4.1, 5.0, 5.1, 6.0, 6.1]
    packed.tokens[0] = 0


def test_packed_fills_the_users_buffer(shared):
    out = np.zeros(16, np.int32)
    packed = shared.packed("tokens", out=out)
    assert np.shares_memory(packed.tokens, out)
    assert out.tolist() == [300, 301, 300, 400, 401, 402, 500, 500, 600, 601, 600, 601, 0, 0, 0, 0]
    for wrong in (np.zeros(3, np.int32), np.zeros(16, np.int64), np.zeros((4, 4), np.int32)):
        with pytest.raises(outrider.DataError, match="it takes a writable 1-d int32 array of at least 12"):
            shared.packed("tokens", out=wrong)
    with pytest.raises(outrider.DataError, match=r"names \['other'\]"):
        shared.packed("tokens", out={"other": out})


def test_padded(shared):
    padded = shared.padded("tokens", value=-1)
    assert padded.shape == (8, 3)
    assert padded[:4].tolist() == [[300, 301, -1], [300, -1, -1], [400, 401, 402], [-1, -1, -1]]


def test_a_column_is_one_chunk_for_each_run_of_neighbours(shared):
    column = shared.column("tokens")
    assert column.num_chunks == 2
    assert len(column) == shared.num_rows == 8
    assert shared.nbytes > 0


def test_a_shard_may_reorder_rows():
    one = segment(to_batch(rows_of(3, 2, 1) + rows_of(4, 3, 1)))
    batch = Batch(0, 0, [Part(3, 1, ((one, 1),), 1), Part(3, 1, ((one, 0),), 1), Part(4, 1, ((one, 3),), 1)])
    assert batch.packed("tokens").tokens.tolist() == [300, 300, 301, 400]
    assert [g.tokens.tolist() for g in batch.groups()] == [[300, 300, 301], [400]]


def test_a_segment_of_several_record_batches_is_one_row_space():
    one = segment(to_batch(rows_of(3, 2, 1)), to_batch(rows_of(4, 3, 1)))
    batch = Batch(0, 0, [Part(3, 1, ((one, 1),), 2)])
    assert batch.packed("tokens").tokens.tolist() == [300, 400, 401, 402]


def test_S11_12_writing_into_a_view_is_an_exception_that_offers_a_copy(shared):
    group = next(shared.groups())

    def assign():
        group.tokens[0] = 1

    def add():
        tokens = group.tokens
        tokens += 1

    def out():
        np.add(group.tokens, 1, out=group.tokens)

    def slice_():
        group.reward[:] = 0

    for write in (assign, add, out, slice_):
        with pytest.raises(
            ValueError, match=r"read-only view of a rollout's shared memory; write into a copy: array.copy\(\)"
        ):
            write()
    mine = group.tokens.copy()
    mine[0] = 1
    assert (group.tokens + 1).tolist() == [301, 302, 301]
    assert type(group.tokens + 1) is np.ndarray
    assert group.tokens[0] == 300


def test_S11_09_a_view_outlives_batch_and_segment_and_memory_goes_with_it():
    batch = Batch(0, 0, [Part(3, 1, ((segment(to_batch(rows_of(3, 200_000))), 0),), 1)])
    view = next(batch.groups()).tokens[5:]

    def mapped():
        with open("/proc/self/maps") as maps:
            return sum("outrider:test" in line for line in maps)

    del batch
    gc.collect()
    assert mapped() == 1
    assert view[0] == 305
    del view
    gc.collect()
    assert mapped() == 0


def test_S11_13_a_pickled_group_or_view_carries_its_own_rows_only():
    big = segment(to_batch(rows_of(3, 2, 1) + rows_of(4, 100_000, 1)))
    group = next(Batch(0, 0, [Part(3, 1, ((big, 0),), 2)]).groups())
    data = pickle.dumps(group)
    assert len(data) < 10_000
    assert pickle.loads(data).tokens.tolist() == [300, 301, 300]
    data = pickle.dumps(group.tokens)
    assert len(data) < 1_000
    assert pickle.loads(data).flags.writeable


def test_S11_01_a_sliced_input_is_written_right():
    whole = to_batch(rows_of(3, 2, 1) + rows_of(4, 3, 1))
    read = segment(whole.slice(1, 2)).batches[0]
    assert read.equals(whole.slice(1, 2))
    assert read.column("tokens").flatten().to_pylist() == [300, 400, 401, 402]


def test_a_column_that_is_not_there(shared):
    with pytest.raises(AttributeError) as caught:
        _ = shared.values
    assert str(caught.value).startswith("outrider: the batch of rollout 7 has no column 'values'; it has ['group', ")
    with pytest.raises(AttributeError, match="group 3 has no column 'values'"):
        _ = next(shared.groups()).values
    assert not hasattr(shared, "values")


def test_a_column_that_some_groups_have():
    parts = [
        Part(3, 1, ((segment(to_batch(rows_of(3, 1))), 0),), 1),
        Part(4, 1, ((segment(to_batch(rows_of(4, 1, score=1.0))), 0),), 1),
    ]
    with pytest.raises(outrider.DataError) as caught:
        _ = Batch(7, 0, parts).score
    assert str(caught.value) == (
        "outrider: column 'score' is missing in 1 of 2 rows of rollout 7; give it in every sample or in none"
    )
    parts[0] = Part(3, 1, ((segment(to_batch(rows_of(3, 1, score=1))), 0),), 1)
    with pytest.raises(
        outrider.DataError, match="column 'score' is int64 in some rows of rollout 7 and double in others"
    ):
        _ = Batch(7, 0, parts).score


def test_columns_without_a_flat_form_say_how_to_read_them(shared):
    with pytest.raises(outrider.DataError, match=r"column 'tokens' has a list in each row; use packed\('tokens'\)"):
        _ = shared.tokens
    with pytest.raises(
        outrider.DataError, match=r"column 'text' is string, which has no numpy form; use column\('text'\)"
    ):
        _ = shared.text
    with pytest.raises(outrider.DataError, match="padded\\(\\) is for list columns"):
        shared.padded("reward")


def test_an_empty_shard():
    batch = Batch(0, 0, [])
    assert (batch.num_rows, batch.nbytes, list(batch.groups())) == (0, 0, [])


class OldConsumer:
    """A consumer of DLPack before 1.0, which has no flag for read-only memory and so takes everything as writable."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **_):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_S11_12_what_an_older_dlpack_consumer_writes_stays_its_own():
    one = segment(to_batch(rows_of(3, 2, 1)))
    fd = write_stream(one.batches[0].schema, one.batches, "again")
    mine, others = Segment(os.dup(fd)), Segment(fd)
    view = next(Batch(0, 0, [Part(3, 1, ((mine, 0),), 2)]).groups()).tokens
    taken = np.from_dlpack(OldConsumer(view))
    assert np.shares_memory(taken, view)
    # numpy takes care; torch does not.
    ctypes.c_int32.from_address(taken.__array_interface__["data"][0]).value = 77
    other = next(Batch(0, 0, [Part(3, 1, ((others, 0),), 2)]).groups()).tokens
    assert other.tolist() == [300, 301, 300]
    assert view.tolist() == [77, 301, 300]


def test_a_view_goes_by_dlpack_without_a_copy(shared):
    for array in (next(shared.groups()).tokens, next(shared.groups()).tokens[1:], next(shared.groups()).reward[::-1]):
        taken = np.from_dlpack(array)
        assert np.shares_memory(taken, array)
        assert taken.tolist() == array.tolist()
        assert not taken.flags.writeable
        copied = np.from_dlpack(array, copy=True)
        assert not np.shares_memory(copied, array)
        copied[0] = 5


def test_a_view_that_runs_backwards_over_many_pages_goes_by_dlpack():
    one = segment(to_batch(rows_of(3, 5000, 5000)))
    backwards = next(Batch(0, 0, [Part(3, 1, ((one, 0),), 2)]).groups()).tokens[::-1]
    taken = np.from_dlpack(OldConsumer(backwards))
    assert taken.tolist() == backwards.tolist()
    ctypes.c_int32.from_address(taken.__array_interface__["data"][0] - backwards.nbytes + 4).value = 77
    assert backwards[-1] == 77


def test_jax_takes_a_view(shared):
    jax = pytest.importorskip("jax")
    tokens = next(shared.groups()).tokens
    taken = jax.dlpack.from_dlpack(tokens)
    assert taken.tolist() == tokens.tolist()


def test_a_dlpack_export_outlives_its_batch():
    live = []

    def take():
        part = Part(3, 1, ((segment(to_batch(rows_of(3, 2, 1))), 0),), 2)
        live.append(weakref.ref(part.places[0][0]))
        return np.from_dlpack(OldConsumer(next(Batch(0, 0, [part]).groups()).tokens))

    taken = take()
    gc.collect()
    assert live[0]() is None
    assert taken.tolist() == [300, 301, 300]


def test_views_groups_and_batches_speak_the_arrow_capsule_protocol(shared):
    group = next(shared.groups())
    tokens = pa.array(group.tokens)
    assert tokens.to_pylist() == [300, 301, 300]
    assert tokens.buffers()[1].address == group.tokens.__array_interface__["data"][0]
    assert pa.record_batch(group).equals(group.rows)
    table = pa.table(shared)
    assert table.num_rows == shared.num_rows
    assert (
        table.column("tokens").chunk(0).values.buffers()[1].address
        == shared.column("tokens").chunk(0).values.buffers()[1].address
    )
    assert pa.table(Batch(0, 0, [])).num_rows == 0


def test_a_batch_of_unlike_groups_is_no_stream():
    first, second = segment(to_batch(rows_of(3, 1, 1))), segment(to_batch(rows_of(4, 1, 1, label="x")))
    batch = Batch(7, 0, [Part(3, 1, ((first, 0),), 2), Part(4, 1, ((second, 0),), 2)])
    with pytest.raises(outrider.DataError, match="groups of rollout 7 have the columns"):
        pa.table(batch)


def test_S11_13_a_pickled_batch_carries_its_own_rows_only():
    big = segment(to_batch(rows_of(3, 2, 1) + rows_of(4, 1, 100_000)))
    batch = Batch(5, 7, [Part(3, 1, ((big, 0),), 1), Part(4, 2, ((big, 2),), 1)])
    data = pickle.dumps(batch)
    assert len(data) < 10_000
    got = pickle.loads(data)
    assert (got.rollout, got.admission, got.num_rows) == (5, 7, 2)
    assert [(g.group, g.attempt) for g in got.groups()] == [(3, 1), (4, 2)]
    assert got.column("tokens").equals(batch.column("tokens"))
    with pytest.raises(outrider.Refused, match="not admitted here"):
        got.add(value=[1.0, 2.0])


def test_S11_12_gathering_says_what_does_not_fit():
    batch = Batch(0, 0, [Part(3, 1, ((segment(to_batch(rows_of(3, 2, 1))), 0),), 2)])
    for names in ((), ("tokens", "reward")):
        with pytest.raises(outrider.DataError, match=r"one array for .* columns"):
            batch.packed(*names, out=np.zeros(100, np.int32))
    for value in (1 << 40, "x", [1, 2, 3, 4, 5]):
        with pytest.raises(outrider.DataError, match="give one number that int32 holds"):
            batch.padded("tokens", value=value)
    name = "nothing"
    with pytest.raises(outrider.Missing, match="no column 'nothing'"):
        getattr(batch, name)
