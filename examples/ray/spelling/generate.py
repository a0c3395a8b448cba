"""What an engine makes of one prompt: a group of sampled answers with their rewards."""

import numpy as np

import grpo
import model
from score import Scorer


def group(params: model.Params, row: dict[str, str], seed: tuple[int, ...], scorer: Scorer) -> grpo.Batch:
    """Samples and scores the row's word GROUP_SIZE times. The same params, row and seed give the same bits."""
    made = model.sample(params, row["word"], seed, grpo.GROUP_SIZE)
    start, end = made.prompt_length, made.prompt_length + made.response_length
    answers = [model.decode(made.tokens[i, start[i] : end[i]]) for i in range(grpo.GROUP_SIZE)]
    reward = np.array([scorer(answer, row["answer"]) for answer in answers], np.float32)
    mask = (np.arange(model.RESPONSE) < made.response_length[:, None]).astype(np.float32)
    return grpo.Batch(made.tokens, made.prompt_length, made.logprobs, mask, reward)
