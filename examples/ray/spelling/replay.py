"""The same weights again, from the lineage and the words alone.

Sampling and a training step are functions of their inputs, bit for bit on one kind of machine. So the whole run can be made
again in one process: each group sampled by the version that the lineage names, each batch trained in the order it gives. When the
digests agree, the lineage has left nothing out and added nothing.
"""

import numpy as np

import grpo
import lineage
import model
from generate import group
from score import Scorer
from words import halves


def replay(found: lineage.Lineage, seed: int) -> str | None:
    """Trains the lineage's rollouts again. Returns None when every digest agrees, else the first difference."""
    scorer = Scorer()
    state = grpo.start(model.warm_start(seed, halves()[0]))
    versions = {0: state.params}  # version v is the weights after rollout v - 1
    for record in found.rollouts:
        members = [lineage.Member(*member) for member in record["groups"]]
        unknown = {member.version for member in members} - set(versions)
        if unknown:
            return f"rollout {record['rollout']}: sampled by versions {sorted(unknown)}, which these weights never had"
        made = [
            group(versions[m.version], {"word": m.word, "answer": m.word[::-1]}, (seed, m.group, m.attempt), scorer)
            for m in members
        ]
        batch = grpo.Batch(*map(np.concatenate, zip(*made, strict=True)))
        state = grpo.step(state, grpo.fill(batch))
        if grpo.digest(state.params).hex() != record["digest"]:
            return f"rollout {record['rollout']}: other weights than the trainer had"
        versions[record["rollout"] + 1] = state.params
    return None
