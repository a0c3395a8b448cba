import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from outrider import _pages
from outrider._memory import write_stream
from outrider._segment import Segment


@pytest.fixture(params=["never", "advise", "within_size", ""])
def host(request, monkeypatch, tmp_path):
    """A host of each setting, as far as a reader of the setting can tell; "" has none."""
    path = tmp_path / "shmem_enabled"
    if request.param:
        path.write_text(f"always [{request.param}] deny\n")
    monkeypatch.setattr(_pages, "SETTING", str(path))
    _pages.setting.cache_clear()
    yield request.param
    _pages.setting.cache_clear()


def large():
    return pa.RecordBatch.from_arrays([pa.array(np.arange(1 << 20)), pa.array(np.arange(1 << 20) / 2)], ["a", "b"])


def test_a_large_stream_is_the_same_however_it_is_written(host):
    assert _pages.setting() == (host or "never")
    batch = large()
    fd = write_stream(batch.schema, [batch], "test")
    assert os.fstat(fd).st_blocks * 512 >= os.fstat(fd).st_size > batch.nbytes
    (read,) = Segment(fd).batches
    assert read.equals(batch)


def test_only_large_writes_at_advise_go_through_a_mapping(host, monkeypatch):
    mapped = []
    monkeypatch.setattr(_pages, "_write_mapped", lambda fd, pieces: mapped.append(fd))
    fd = os.memfd_create("test")
    _pages.write(fd, [b"x" * _pages.LARGE])
    assert bool(mapped) == (host == "advise")
    assert os.fstat(fd).st_size == _pages.LARGE
    os.close(fd)


def test_a_kernel_that_cannot_populate_gets_a_plain_write(monkeypatch):
    monkeypatch.setattr(_pages, "_MADV_POPULATE_WRITE", 9999)
    fd = os.memfd_create("test")
    assert not _pages._write_mapped(fd, [b"x" * _pages.LARGE])
    assert os.fstat(fd).st_size == 0
    os.close(fd)


SHORT = """
import os, resource, sys
from outrider import _pages
import tests.test_pages as t
_pages.setting = lambda: sys.argv[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
batch = t.large()
try:
    t.write_stream(batch.schema, [batch], "test")
except OSError as error:
    print(error)
print(sum("memfd:outrider" in os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")))
print(open("/proc/self/maps").read().count("memfd:outrider"))
"""


@pytest.mark.parametrize("way", ["never", "advise"])
def test_S11_14_memory_that_is_not_there_is_an_error_at_the_write(way):
    run = subprocess.run([sys.executable, "-c", SHORT, way], capture_output=True, text=True, check=True)
    said, descriptors, mappings = run.stdout.splitlines()
    assert "too large" in said
    assert (descriptors, mappings) == ("0", "0")  # nothing is left that a reader could be given
