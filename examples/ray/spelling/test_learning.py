"""The learning part alone: no Ray, no Outrider."""

import numpy as np
import pytest

import generate
import grpo
import model
from score import Scorer
from words import halves, prompts


@pytest.fixture(scope="module")
def params() -> model.Params:
    return model.warm_start(0, halves()[0], steps=40)


def batch(params: model.Params, groups: int) -> grpo.Batch:
    rows, scorer = prompts(rows=groups).to_pylist(), Scorer()
    made = [generate.group(params, row, (0, i, 1), scorer) for i, row in enumerate(rows)]
    return grpo.Batch(*map(np.concatenate, zip(*made, strict=True)))


def test_prompts_are_never_warm_start_examples():
    warm, held = halves()
    assert not set(warm) & set(held)
    table = prompts()
    assert table.column_names == ["question", "answer", "word"]
    assert set(table["word"].to_pylist()) <= set(held)
    assert all(row["answer"] == row["word"][::-1] for row in table.to_pylist())


@pytest.mark.parametrize(
    ("answer", "reward"), [("nus", 1.0), ("nux", 1 / 3), ("xxx", 0.0), ("", 0.0), ("nusx", 0.4), ("n", 1 / 6)]
)
def test_reward_is_one_for_the_exact_answer_and_less_than_half_otherwise(answer, reward):
    assert Scorer()(answer, "nus") == pytest.approx(reward)


def test_decoding_ends_at_the_end_mark():
    assert model.decode(np.array(model.encode("nus.ab"))) == "nus"


def test_an_engine_and_the_trainer_see_the_same_log_probabilities(params):
    made = batch(params, 4)
    logits = model.response_logits(params, made.tokens, made.prompt_length)
    logprobs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    chosen = np.asarray(model.response_tokens(made.tokens, made.prompt_length))
    again = np.take_along_axis(np.asarray(logprobs), chosen[..., None], axis=-1)[..., 0]
    np.testing.assert_allclose(again * made.mask, made.logprobs, atol=1e-4)
    assert made.mask.sum(axis=1).min() >= 1


def test_sampling_and_a_step_give_the_same_bits_again(params):
    first, second = batch(params, 2), batch(params, 2)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    digests = {grpo.digest(grpo.step(grpo.start(params), made).params) for made in (first, second)}
    assert len(digests) == 1
    assert grpo.digest(params) not in digests


def test_masked_rows_do_not_change_a_step(params):
    made = batch(params, 2)
    full = grpo.fill(made, 4)
    assert len(full.reward) == 4 * grpo.GROUP_SIZE
    a, b = (grpo.step(grpo.start(params), rows).params for rows in (made, full))
    for name in a:
        np.testing.assert_allclose(a[name], b[name], atol=1e-5)


def test_advantages_compare_a_sample_with_its_group_only():
    reward = np.array([1.0] * 4 + [0.0] * 4 + [0.5] * 8, np.float32)
    gain = np.asarray(grpo.advantages(reward))
    assert (gain[:4] > 0.9).all()
    assert (gain[4:8] < -0.9).all()
    assert (gain[8:] == 0).all()
