"""A language model small enough to learn on a CPU in seconds: characters in, the next character out.

A sequence reads `word>answer.`; the 12 tokens before a position, embedded 24 wide, go into a two-layer tanh MLP of 256. All shapes
are fixed (PROMPT, RESPONSE), so each function compiles once in each process, and the same inputs give the same bits.
"""

import os

# One thread a process: a job of three JAX actors shares few cores, and the bits of a sum must not depend on their number.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import itertools
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

PAD, ARROW, END = 0, 27, 28  # letters are 1..26
VOCABULARY = 29
PROMPT, RESPONSE = 6, 6  # the longest prompt `abcde>` and the longest response `edcba.`, in tokens
WINDOW = PROMPT + RESPONSE

Params = dict[str, Any]


class Samples(NamedTuple):
    """What sampling makes: B rows, prompt first, then the response, then PAD."""

    tokens: np.ndarray  # int32 [B, WINDOW]
    prompt_length: np.ndarray  # int32 [B]
    response_length: np.ndarray  # int32 [B]
    logprobs: np.ndarray  # float32 [B, RESPONSE], 0 beyond the response


def encode(text: str) -> list[int]:
    return [ARROW if c == ">" else END if c == "." else ord(c) - ord("a") + 1 for c in text]


def decode(tokens: np.ndarray) -> str:
    """The answer that a response spells: its letters up to the end mark; anything else becomes `?`."""
    letters = []
    for token in tokens:
        if token in (END, PAD):
            break
        letters.append(chr(ord("a") + int(token) - 1) if token < ARROW else "?")
    return "".join(letters)


def init(seed: int) -> Params:
    keys = jax.random.split(jax.random.key(seed), 4)
    widths = [WINDOW * 24, 256, 256, VOCABULARY]
    params: Params = {"embed": jax.random.normal(keys[0], (VOCABULARY, 24)) * 0.5}
    for layer, (inputs, outputs) in enumerate(itertools.pairwise(widths)):
        params[f"w{layer}"] = jax.random.normal(keys[layer + 1], (inputs, outputs)) * inputs**-0.5
        params[f"b{layer}"] = jnp.zeros(outputs)
    return params


def _logits(params: Params, window: jax.Array) -> jax.Array:
    """[..., WINDOW] tokens before a position -> [..., VOCABULARY]; PAD and ARROW are never an answer."""
    x = params["embed"][window].reshape(*window.shape[:-1], -1)
    x = jnp.tanh(x @ params["w0"] + params["b0"])
    x = jnp.tanh(x @ params["w1"] + params["b1"])
    logits = x @ params["w2"] + params["b2"]
    return logits.at[..., jnp.array([PAD, ARROW])].set(-1e9)


def response_logits(params: Params, tokens: jax.Array, prompt_length: jax.Array) -> jax.Array:
    """Logits of each response position: [B, WINDOW] tokens, [B] prompt lengths -> [B, RESPONSE, VOCABULARY]."""
    padded = jnp.pad(
        tokens, ((0, 0), (WINDOW, RESPONSE))
    )  # left: what is before the prompt; right: positions that do not exist
    starts = prompt_length[:, None] + jnp.arange(RESPONSE)
    windows = padded[jnp.arange(len(tokens))[:, None, None], starts[..., None] + jnp.arange(WINDOW)]
    return _logits(params, windows)


def response_tokens(tokens: jax.Array, prompt_length: jax.Array) -> jax.Array:
    """[B, RESPONSE]: the tokens from each row's prompt length on."""
    return jnp.take_along_axis(
        jnp.pad(tokens, ((0, 0), (0, RESPONSE))), prompt_length[:, None] + jnp.arange(RESPONSE), axis=1
    )


@partial(jax.jit, static_argnames="count")
def _sample(params: Params, prompt: jax.Array, length: jax.Array, seed: jax.Array, count: int) -> tuple[jax.Array, ...]:
    key = jax.random.key(0)
    for part in seed:
        key = jax.random.fold_in(key, part)
    tokens = jnp.broadcast_to(jnp.pad(prompt, (0, WINDOW - PROMPT)), (count, WINDOW))

    def step(state, inputs):
        tokens, alive = state
        position, key = inputs
        context = jax.lax.dynamic_slice_in_dim(jnp.pad(tokens, ((0, 0), (WINDOW, 0))), position, WINDOW, axis=1)
        logprobs = jax.nn.log_softmax(_logits(params, context))
        token = jnp.where(alive, jax.random.categorical(key, logprobs), PAD)
        logprob = jnp.where(alive, jnp.take_along_axis(logprobs, token[:, None], axis=1)[:, 0], 0.0)
        tokens = jax.lax.dynamic_update_slice_in_dim(tokens, token[:, None].astype(jnp.int32), position, axis=1)
        return (tokens, alive & (token != END)), (logprob, alive)

    steps = (length + jnp.arange(RESPONSE), jax.random.split(key, RESPONSE))
    (tokens, _), (logprobs, alive) = jax.lax.scan(step, (tokens, jnp.ones(count, bool)), steps)
    return tokens, alive.sum(axis=0, dtype=jnp.int32), logprobs.T


def sample(params: Params, word: str, seed: tuple[int, ...], count: int) -> Samples:
    """Spells `word` backward `count` times at temperature 1. The same params, word, seed and count give the same bits."""
    prompt = encode(word + ">")
    padded = np.array(prompt + [PAD] * (PROMPT - len(prompt)), np.int32)
    tokens, response_length, logprobs = jax.device_get(
        _sample(params, padded, len(prompt), np.array(seed, np.uint32), count)
    )
    return Samples(tokens, np.full(count, len(prompt), np.int32), response_length, logprobs)


def warm_start(seed: int, words: list[str], steps: int = 120, rows: int = 32) -> Params:
    """Parameters that have seen `steps` Adam steps of supervised examples: they spell a little, so that a reward can be had."""
    params = init(seed)
    optimizer = optax.adam(2e-3)

    @jax.jit
    def step(params, state, tokens, prompt_length):
        def loss(params):
            target = response_tokens(tokens, prompt_length)
            losses = optax.softmax_cross_entropy_with_integer_labels(
                response_logits(params, tokens, prompt_length), target
            )
            return (losses * (target != PAD)).sum() / (target != PAD).sum()

        updates, state = optimizer.update(jax.grad(loss)(params), state)
        return optax.apply_updates(params, updates), state

    examples = [encode(f"{word}>{word[::-1]}.") for word in words]
    tokens = np.array([row + [PAD] * (WINDOW - len(row)) for row in examples], np.int32)
    lengths = np.array([len(word) + 1 for word in words], np.int32)
    state, chosen = optimizer.init(params), np.random.default_rng(seed)
    for _ in range(steps):
        rows_now = chosen.integers(len(words), size=rows)
        params, state = step(params, state, tokens[rows_now], lengths[rows_now])
    return params
