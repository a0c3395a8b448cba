"""The trainer actor: admits a batch, takes an optimizer step, keeps checkpoints and its lineage."""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import outrider
import ray

import checkpoint
import grpo
import lineage
import model
from words import halves


class Trained(NamedTuple):
    """What a step tells the driver."""

    rollout: int
    reward: float  # mean of the batch
    tokens: int
    digest: bytes  # of the weights after it
    admit: float  # seconds that admit() took: this rank holds the batch, and the owner knows it
    first: float  # seconds from then to the first token


@ray.remote(max_restarts=-1, num_cpus=0.5)
class Trainer:
    """One trainer rank. A restarted one goes on from its last checkpoint, and the run goes back with it."""

    def __init__(self, run: outrider.Run, directory: str, seed: int) -> None:
        self.directory = Path(directory)
        saved = checkpoint.last(self.directory / "checkpoints")
        if saved is None:
            saved = checkpoint.Checkpoint(-1, grpo.start(model.warm_start(seed, halves()[0])), None)
        self.last, self.state = saved.rollout, saved.state
        self.before = (self.last, self.state)  # what restore() goes back to
        self.lineage = lineage.Writer(self.directory / "lineage.jsonl")
        self.lineage.restored(self.last, grpo.digest(self.state.params))
        self.trainer = outrider.Trainer(run, state_at=self.last, state=saved.outrider)
        self.batch: outrider.Batch | None = None

    def admit(self, publication: outrider.Publication) -> None:
        """Holds the batch; it may be trained on once the driver has committed its lease."""
        start = time.perf_counter()
        self.batch = self.trainer.admit(publication)
        admitted = time.perf_counter()
        next(self.batch.groups()).tokens[0]
        self.handover = admitted - start, time.perf_counter() - admitted

    @ray.method(num_returns=2)
    def train(self, rollout: int) -> tuple[model.Params, Trained]:
        """One optimizer step on the admitted batch; returns the weights and what there is to tell."""
        batch = self.batch
        if batch is None:  # Ray has started this actor again between the commit and this call
            raise outrider.Refused(f"the life of this trainer that admitted rollout {rollout} has ended")
        rows = to_rows(batch)
        self.before = (self.last, self.state)
        self.state, self.last = grpo.step(self.state, grpo.fill(rows)), rollout
        digest = grpo.digest(self.state.params)
        self.lineage.trained(rollout, members(batch, rows), digest)
        tokens = int(rows.prompt_length.sum() + rows.mask.sum())
        return self.weights()[0], Trained(rollout, float(rows.reward.mean()), tokens, digest, *self.handover)

    @ray.method(num_returns=2)
    def weights(self) -> tuple[model.Params, int]:
        """The parameters as numpy arrays, and the last rollout in them."""
        return {name: np.asarray(value) for name, value in self.state.params.items()}, self.last

    def save(self, state: bytes) -> None:
        """Weights and ledger into one checkpoint: `state` is run.state() of the last rollout trained."""
        checkpoint.save(self.directory / "checkpoints", checkpoint.Checkpoint(self.last, self.state, state))

    def restore(self) -> None:
        """Undoes the last step."""
        self.last, self.state = self.before
        self.lineage.restored(self.last, grpo.digest(self.state.params))
        self.say()

    def say(self) -> None:
        """Tells the run which rollout the weights contain last: it or they have gone back."""
        self.trainer.restored(self.last)

    def history(self) -> str:
        return (self.directory / "lineage.jsonl").read_text()


def to_rows(batch: outrider.Batch) -> grpo.Batch:
    """The batch in the fixed shapes that a training step is compiled for."""

    def padded(name: str, width: int) -> np.ndarray:
        column = batch.padded(name)
        return np.pad(column, ((0, 0), (0, width - column.shape[1])))

    tokens = padded("tokens", model.WINDOW)
    prompt_length = (tokens != model.PAD).sum(axis=1).astype(np.int32) - batch.response_length
    mask = (np.arange(model.RESPONSE) < batch.response_length[:, None]).astype(np.float32)
    return grpo.Batch(tokens, prompt_length, padded("logprobs", model.RESPONSE), mask, batch.reward.astype(np.float32))


def members(batch: outrider.Batch, rows: grpo.Batch) -> list[lineage.Member]:
    """Which groups these rows are, by what the rows themselves say."""
    found = []
    for number, group in enumerate(batch.groups()):
        first = number * grpo.GROUP_SIZE
        word = model.decode(rows.tokens[first, : rows.prompt_length[first] - 1])
        version = group.column("versions")[0].as_py()[0]["version"]
        found.append(lineage.Member(group.group, group.column("attempt")[0].as_py(), version, word))
    return found
