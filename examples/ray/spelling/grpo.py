"""Group-relative policy optimization: one optimizer step on one batch of prompt groups.

Group-relative advantages: Shao et al., "DeepSeekMath" (2024), section 4.1. Clipped ratios: Schulman et al., "Proximal Policy
Optimization Algorithms" (2017), equation 7. The ratio is taken against the log-probabilities that the engine sampled with, so a batch
may be a few weight versions old. A step depends on the rows alone: the same rows in the same order give the same bits.
"""

import hashlib
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from model import Params, response_logits, response_tokens

GROUP_SIZE = 8  # samples of one prompt
BATCH_GROUPS = 16  # prompts of one step
LEARNING_RATE, CLIP, ENTROPY = 2e-3, 0.2, 0.005
OPTIMIZER = optax.adam(LEARNING_RATE)


class Batch(NamedTuple):
    """B rows, a group's rows side by side. A row that is only there to fill the shape has an all-zero mask."""

    tokens: np.ndarray  # int32 [B, WINDOW], prompt then response
    prompt_length: np.ndarray  # int32 [B]
    logprobs: np.ndarray  # float32 [B, RESPONSE], as sampled
    mask: np.ndarray  # float32 [B, RESPONSE], 1 = trained
    reward: np.ndarray  # float32 [B]


class State(NamedTuple):
    """All that a step changes."""

    params: Params
    optimizer: Any


def start(params: Params) -> State:
    return State(params, OPTIMIZER.init(params))


def fill(batch: Batch, groups: int = BATCH_GROUPS) -> Batch:
    """The batch with masked rows added up to `groups` groups, so that a short one needs no compilation of its own."""
    rows = groups * GROUP_SIZE
    return Batch(*(np.pad(column, [(0, rows - len(column))] + [(0, 0)] * (column.ndim - 1)) for column in batch))


def advantages(reward: jax.Array) -> jax.Array:
    """[B] -> [B]: how much better a sample did than its group, in standard deviations of that group."""
    groups = reward.reshape(-1, GROUP_SIZE)
    centred = groups - groups.mean(axis=1, keepdims=True)
    return (centred / (groups.std(axis=1, keepdims=True) + 1e-2)).reshape(-1)


@jax.jit
def step(state: State, batch: Batch) -> State:
    advantage = advantages(batch.reward)[:, None]
    chosen = response_tokens(batch.tokens, batch.prompt_length)

    def loss(params: Params) -> jax.Array:
        logprobs = jax.nn.log_softmax(response_logits(params, batch.tokens, batch.prompt_length))
        entropy = -(jnp.exp(logprobs) * logprobs).sum(axis=-1)
        ratio = jnp.exp(jnp.take_along_axis(logprobs, chosen[..., None], axis=-1)[..., 0] - batch.logprobs)
        gain = jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantage) + ENTROPY * entropy
        return -(gain * batch.mask).sum() / jnp.maximum(batch.mask.sum(), 1.0)

    updates, optimizer = OPTIMIZER.update(jax.grad(loss)(state.params), state.optimizer)
    return State(optax.apply_updates(state.params, updates), optimizer)


def digest(params: Params) -> bytes:
    """SHA-256 over every parameter's bytes: equal exactly when the weights are equal bit for bit."""
    total = hashlib.sha256()
    for name in sorted(params):
        total.update(name.encode() + np.ascontiguousarray(params[name]).tobytes())
    return total.digest()
