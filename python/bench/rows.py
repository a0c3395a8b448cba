"""The rows that every contestant makes: groups of 1 KB for the life, rollouts of any size for the handover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

GROUP_SIZE = 8
BATCH_GROUPS = 64
SMALL_PROMPT, SMALL_RESPONSE = 8, 8
"""Tokens of a sample of 128 bytes of columns: eight of them are a group of 1 KB."""

PROMPT, RESPONSE = 200, 600
"""Tokens of a sample of the handover: 6.2 kB."""

Columns = dict[str, npt.NDArray[Any]]


def columns(samples: int, prompt: int, response: int) -> Columns:
    """Packed columns of equal samples, in the form an engine with numpy output has them.

    Returns:
        Flat `tokens` int32, `logprobs` float32, `loss_mask` uint8; offsets `cu_seqlens` and `cu_responses` int32 [samples + 1];
        one value a sample for the rest.
    """
    seed = np.random.default_rng(0)
    return {
        "tokens": seed.integers(0, 50_000, samples * (prompt + response), dtype=np.int32),
        "cu_seqlens": np.arange(samples + 1, dtype=np.int32) * (prompt + response),
        "logprobs": seed.random(samples * response, dtype=np.float32),
        "loss_mask": np.ones(samples * response, np.uint8),
        "cu_responses": np.arange(samples + 1, dtype=np.int32) * response,
        "response_length": np.full(samples, response, np.int32),
        "trajectory": np.arange(samples, dtype=np.int64),
        "part": np.zeros(samples, np.int32),
        "reward": seed.random(samples),
        "status": np.zeros(samples, np.uint8),
    }


def record_batch(
    cols: Columns, group: npt.NDArray[np.int64] | None = None, slot: npt.NDArray[np.int32] | None = None
) -> pa.RecordBatch:
    """The columns as Arrow, without copying them."""
    arrays: dict[str, pa.Array] = {}
    if group is not None and slot is not None:
        arrays["group"], arrays["slot"] = pa.array(group), pa.array(slot)
    for name, values in cols.items():
        if name in ("tokens", "logprobs", "loss_mask"):
            offsets = cols["cu_seqlens" if name == "tokens" else "cu_responses"]
            inner = pa.array(values)
            kind = pa.list_(pa.field("item", inner.type, nullable=False))
            arrays[name] = pa.ListArray.from_arrays(pa.array(offsets), inner, type=kind)
        elif not name.startswith("cu_"):
            arrays[name] = pa.array(values)
    schema = pa.schema([pa.field(name, array.type, nullable=False) for name, array in arrays.items()])
    return pa.RecordBatch.from_arrays(list(arrays.values()), schema=schema)


def small_rows(groups: int) -> pa.RecordBatch:
    """Rows of that many groups of 1 KB, without identity columns."""
    return record_batch(columns(groups * GROUP_SIZE, SMALL_PROMPT, SMALL_RESPONSE))


def small_bytes() -> bytes:
    """One group's rows as the bytes that a rival sends: 1 KB."""
    return b"\1" * (GROUP_SIZE * 128)


@dataclass
class ArraySample:
    """A sample whose columns are numpy arrays."""

    tokens: npt.NDArray[np.int32]
    logprobs: npt.NDArray[np.float32]
    loss_mask: npt.NDArray[np.uint8]
    response_length: int
    reward: float


@dataclass
class ListSample:
    """A sample whose columns are Python lists, as many rollout loops keep it."""

    tokens: list[int]
    logprobs: list[float]
    loss_mask: list[int]
    response_length: int
    reward: float


def array_samples(cols: Columns) -> list[ArraySample]:
    """The same rows as objects of arrays, each array its own memory."""
    out = []
    for i in range(len(cols["reward"])):
        t, r = slice(*cols["cu_seqlens"][i : i + 2]), slice(*cols["cu_responses"][i : i + 2])
        tokens, logprobs, mask = cols["tokens"][t].copy(), cols["logprobs"][r].copy(), cols["loss_mask"][r].copy()
        out.append(ArraySample(tokens, logprobs, mask, int(cols["response_length"][i]), float(cols["reward"][i])))
    return out


def list_samples(cols: Columns) -> list[ListSample]:
    """The same rows as objects of lists."""
    return [
        ListSample(s.tokens.tolist(), s.logprobs.tolist(), s.loss_mask.tolist(), s.response_length, s.reward)
        for s in array_samples(cols)
    ]
