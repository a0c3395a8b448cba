"""The reward of an answer."""

from words import task


class Scorer:
    """Rewards an answer: 1 when the task's own scorer says it is exact, else half of what that scorer gives for right letters."""

    def __init__(self) -> None:
        self._score = task().score_answer

    def __call__(self, answer: str, expected: str) -> float:
        score = float(self._score(answer, {"answer": expected}))
        return score if score == 1.0 else score / 2
