"""The task: spell a word backward.

The words (three to five letters) and the scorer are reasoning-gym's `spell_backward`; they ship with that package, so nothing
is downloaded. One half of the words is for the supervised warm start, from the other half come the prompts of the
reinforcement learning: no prompt is ever a warm-start example.
"""

import random

import pyarrow as pa
import reasoning_gym

PROMPTS = 2048  # rows of the source; 300 steps of 16 groups go through it more than twice


def task() -> "reasoning_gym.dataset.ProceduralDataset":
    return reasoning_gym.create_dataset("spell_backward", min_word_len=3, max_word_len=5, seed=0, size=1)


def halves(seed: int = 0) -> tuple[list[str], list[str]]:
    """The words in lower case, each once, shuffled by `seed`: (for the warm start, for the prompts)."""
    words = sorted({word.lower() for word in task().words})
    random.Random(seed).shuffle(words)
    return words[: len(words) // 2], words[len(words) // 2 :]


def prompts(seed: int = 0, rows: int = PROMPTS) -> pa.Table:
    """The source of the run: one row a prompt, with the columns question, answer and word (utf8)."""
    words = halves(seed)[1][:rows]
    return pa.table(
        {
            "question": [f"Spell this word backward (example: sun -> nus): {word}" for word in words],
            "answer": [word[::-1] for word in words],
            "word": words,
        }
    )
