"""The trainer's checkpoints: one file each, whole or absent.

A checkpoint is what the trainer holds after a rollout *and* what `run.state(rollout)` gave for the same rollout: weights and ledger can
only come back together. The directory must be one that the trainer reaches wherever it is restarted.
"""

import pickle
from pathlib import Path
from typing import NamedTuple

import jax

import grpo

KEPT = 2


class Checkpoint(NamedTuple):
    """What a trainer that is restarted needs."""

    rollout: int  # the last one that the weights contain; -1: none
    state: grpo.State
    outrider: bytes | None  # run.state(rollout)


def save(directory: Path, checkpoint: Checkpoint) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    part = directory / "part"
    part.write_bytes(pickle.dumps(tuple(jax.device_get(checkpoint))))
    part.rename(directory / f"{checkpoint.rollout:06d}.pickle")
    for old in sorted(directory.glob("*.pickle"))[:-KEPT]:
        old.unlink()


def last(directory: Path) -> Checkpoint | None:
    files = sorted(directory.glob("*.pickle"))
    return Checkpoint(*pickle.loads(files[-1].read_bytes())) if files else None
