"""An inference actor: samples prompt groups with the weights it was last given."""

import outrider
import ray

import grpo
import model
from generate import group
from score import Scorer
from words import halves


@ray.remote(max_restarts=-1, num_cpus=0.5)
class Engine:
    """Serves until the run ends. A restarted engine gets work again once it has confirmed the current weights."""

    def __init__(self, run: outrider.Run, seed: int) -> None:
        self.weights, self.version = model.warm_start(seed, halves()[0]), 0
        self.seed, self.scorer = seed, Scorer()
        self.refusals: dict[int, int] = {}  # version -> how often its load is yet to fail
        group(self.weights, {"word": "warm", "answer": "mraw"}, (seed, 0, 0), self.scorer)  # compile before work comes
        self.worker = outrider.Worker(run, slots=64)

    @ray.method(max_task_retries=-1)
    async def serve(self) -> None:
        async for work in self.worker.groups():
            try:
                await work.complete_async(self.generate(work))
            except Exception as error:  # fails this execution and nothing else
                await work.fail_async(error)

    def generate(self, work: outrider.Work) -> list[outrider.Sample]:
        row = work.prompts.slice(0, 1).to_pylist()[0]
        made = group(self.weights, row, (self.seed, work.group, work.attempt), self.scorer)
        response_length = made.mask.sum(axis=1).astype(int)
        return [
            outrider.Sample(
                tokens=made.tokens[i, : made.prompt_length[i] + n],
                response_length=n,
                logprobs=made.logprobs[i, :n],
                reward=made.reward[i],
                versions=self.version,
                attempt=work.attempt,  # a column of our own: what the sampling was seeded with
            )
            for i, n in enumerate(response_length)
        ]

    async def load(self, version: int, weights: model.Params) -> None:
        """Takes new weights between two groups; from the confirmation on they are what this engine serves."""
        if self.refusals.get(version, 0) > 0:
            self.refusals[version] -= 1
            raise RuntimeError(f"this engine was told to refuse version {version}")
        self.weights, self.version = weights, version
        self.worker.confirm(version, digest=grpo.digest(weights).hex())

    async def refuse(self, version: int, times: int) -> None:
        """For the demonstration of a failed update: the next loads of this version raise."""
        self.refusals[version] = times
