"""Checksums of segments on one host."""

import os
import zlib

import numpy as np
import pyarrow as pa
import pytest
from test_life import engine, sample

import outrider
from outrider import _memory, _pages


def long(prompt):
    """A sample whose group is written column by column."""
    return outrider.Sample(np.arange(100_000), 1, reward=0.0, label=prompt["question"])


@pytest.mark.parametrize("make", [sample, long])
def test_S11_16_columns_that_change_while_they_are_written_are_refused_by_name(own, monkeypatch, make):
    def torn(fd, pieces):
        write(fd, pieces)
        os.pwrite(fd, b"\x55", os.fstat(fd).st_size - 24)  # in the last column; behind it comes the end marker

    run = own(count=8, policy=outrider.Policy(checksums=True, max_failed=1.0))
    write = _pages.write
    with outrider.Worker(run, slots=2) as worker:
        monkeypatch.setattr(_pages, "write", torn)
        work = next(worker.groups())
        said = r"segment 0 of a report has CRC-32 [0-9a-f]{8}, its writer said [0-9a-f]{8}"
        with pytest.raises(outrider.DataError, match=said):
            work.complete([make(work.prompt(slot)) for slot in range(2)])
        monkeypatch.undo()
        again = next(worker.groups())
        assert (again.group, again.attempt) == (work.group, 2)
        assert again.complete([make(again.prompt(slot)) for slot in range(2)])
        assert run.stats().completed.used == 1


def test_S11_16_a_run_with_checksums_trains_and_one_without_has_none(own, monkeypatch):
    run = own(count=8, epochs=1, policy=outrider.Policy(checksums=True))
    with engine(run), outrider.Trainer(run) as trainer:
        assert [trainer.next(rollout).num_rows for rollout in range(2)] == [4, 4]

    monkeypatch.setattr(_memory.zlib, "crc32", None)
    run = own(count=4, epochs=1)
    with engine(run), outrider.Trainer(run) as trainer:
        assert trainer.next(0).num_rows == 4


@pytest.mark.parametrize(
    "column", [np.arange(100), np.arange(100_000), pa.array(["x" * 1000] * 1000).dictionary_encode()]
)
def test_S11_16_the_checksum_is_that_of_the_segment_however_it_is_written(column):
    batch = pa.record_batch({"column": column})
    fd, checksum = _memory.write_checked(batch.schema, [batch], "test")
    written = os.pread(fd, os.fstat(fd).st_size, 0)
    os.close(fd)
    assert checksum == zlib.crc32(written)
