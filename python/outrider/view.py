"""Numpy views of shared memory that say what to do when somebody writes into them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from outrider._memory import allow_writes
from outrider.errors import Error


class View(np.ndarray[Any, np.dtype[Any]]):
    """A read-only array over the memory that the engine wrote; valid for as long as Python holds it.

    Slices are views too; arithmetic and `copy()` give ordinary memory.
    """

    def _refuse(self) -> ValueError:
        return ValueError(
            "outrider: this array is a read-only view of a rollout's shared memory; write into a copy: array.copy()"
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.flags.writeable:
            raise self._refuse()
        super().__setitem__(key, value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **kwargs: Any) -> Any:
        if any(isinstance(target, View) and not target.flags.writeable for target in out):
            raise self._refuse()
        plain = [np.asarray(value) if isinstance(value, View) else value for value in inputs]
        if out:
            kwargs["out"] = tuple(np.asarray(target) if isinstance(target, View) else target for target in out)
        return getattr(ufunc, method)(*plain, **kwargs)

    def __dlpack__(self, **wishes: Any) -> Any:
        """A DLPack capsule over the same memory: JAX, torch and CuPy take it without a copy.

        Args:
            wishes: The protocol's own: stream, max_version, dl_device, copy. A consumer of DLPack 1.0 or later is told that the
                memory is read-only. An older one has no way to hear it: what it writes stays in this process, and the segment keeps
                what the engine wrote.

        Raises:
            BufferError: This memory cannot be exported; says to copy.
        """
        if self.size and not allow_writes(*self._span()):
            raise BufferError("outrider: this memory cannot be exported by DLPack; export a copy: array.copy()")
        if wishes.get("max_version") is None:
            return np.asarray(_Writable(self)).__dlpack__(**wishes)
        return super().__dlpack__(**wishes)

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        """The Arrow PyCapsule protocol, over the same memory where the array is 1-d and contiguous."""
        return pa.array(np.asarray(self)).__arrow_c_array__(requested_schema)

    def _span(self) -> tuple[int, int]:
        """Address of the lowest byte of any value, and bytes up to the highest; slices of a view may have gaps, or run backwards."""
        low: int = self.__array_interface__["data"][0]
        high = low + self.itemsize
        for n, step in zip(self.shape, self.strides, strict=True):
            low += min(0, (n - 1) * step)
            high += max(0, (n - 1) * step)
        return low, high - low

    def __reduce__(self) -> Any:
        # A pickled view is an ordinary array: it owns its bytes where it arrives.
        return np.asarray(self).__reduce__()


class _Writable:
    """A view as numpy's array protocol says it of ordinary memory. Holds the view."""

    def __init__(self, of: View) -> None:
        self._of = of
        address = of.__array_interface__["data"][0]
        self.__array_interface__ = {**of.__array_interface__, "data": (address, False)}


def view(array: pa.Array) -> npt.NDArray[Any]:
    """A fixed-width Arrow array without nulls as a read-only numpy view; shared, not copied.

    Raises:
        DataError: Its type has no numpy form without a copy.
    """
    plain: npt.NDArray[Any] = array.to_numpy(zero_copy_only=True)
    return plain.view(View)


class Missing(Error, AttributeError):
    """A batch or group has no column of that name."""
