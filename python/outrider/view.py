"""Numpy views of shared memory that say what to do when somebody writes into them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

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

    def __reduce__(self) -> Any:
        # A pickled view is an ordinary array: it owns its bytes where it arrives.
        return np.asarray(self).__reduce__()


def view(array: pa.Array) -> npt.NDArray[Any]:
    """A fixed-width Arrow array without nulls as a read-only numpy view; shared, not copied.

    Raises:
        DataError: Its type has no numpy form without a copy.
    """
    plain: npt.NDArray[Any] = array.to_numpy(zero_copy_only=True)
    return plain.view(View)


class Missing(Error, AttributeError):
    """A batch or group has no column of that name."""
