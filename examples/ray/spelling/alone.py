"""The learning by itself, in one process, without Ray and without Outrider: what the job distributes.

`python alone.py [SEED …]` prints the mean reward of the first and of the last 20 steps. Each batch is sampled by weights that are
`STALENESS` versions old, as the job's bound allows.
"""

import random
import sys
from collections import deque

import numpy as np

import grpo
import model
from generate import group
from score import Scorer
from words import halves, prompts

STEPS, STALENESS = 300, 2


def learn(seed: int, steps: int = STEPS, staleness: int = STALENESS) -> list[float]:
    """Trains from the warm start; returns the mean reward of each step's batch."""
    scorer, rows = Scorer(), prompts().to_pylist()
    order = [
        row
        for epoch in range(-(-steps * grpo.BATCH_GROUPS // len(rows)))
        for row in random.Random(epoch).sample(rows, len(rows))
    ]
    state = grpo.start(model.warm_start(seed, halves()[0]))
    history, rewards = deque([state.params], maxlen=staleness + 1), []
    for step in range(steps):
        groups = [
            group(history[0], order[i], (seed, i, 1), scorer)
            for i in range(step * grpo.BATCH_GROUPS, (step + 1) * grpo.BATCH_GROUPS)
        ]
        batch = grpo.Batch(*map(np.concatenate, zip(*groups, strict=True)))
        state = grpo.step(state, batch)
        history.append(state.params)
        rewards.append(float(batch.reward.mean()))
    return rewards


def main() -> None:
    for seed in map(int, sys.argv[1:] or ["0"]):
        rewards = learn(seed)
        first, last = np.mean(rewards[:20]), np.mean(rewards[-20:])
        print(f"seed {seed}: reward {first:.3f} -> {last:.3f} (+{last - first:.3f}) in {len(rewards)} steps")


if __name__ == "__main__":
    main()
