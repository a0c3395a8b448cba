"""The whole job: two engines sample, one trainer learns, Outrider owns each prompt group in between.

    python job.py              an embedded Ray; RAY_ADDRESS=… joins an existing cluster

Environment: SEED (0), STEPS (300), FAULTS=1 (kills actors on the way), OWNERSHIP=none (what is lost without leases),
OUT (directory of what is left behind; with a cluster: one that the trainer reaches from every node), RESUME=1 (goes on from the
last checkpoint there), CHECKPOINT_EVERY (20 steps), WORDS (2048 prompts an epoch), EPOCHS (endless).
Exits non-zero when the books do not close, or the trainer's lineage does not prove that the final weights contain each
acknowledged group exactly once.
"""

import sys
import textwrap
import time

import outrider
import ray
from ray.exceptions import RayActorError, RayTaskError

import checkpoint
import closing
import faults
import grpo
from engine import Engine
from settings import Settings
from trainer import Trained, Trainer
from words import prompts

MAX_STALENESS = 2
TOLD_EVERY = 20  # steps
PATIENCE = 180.0  # seconds for a batch that takes a fraction of one: longer, and nobody generates any more


# A batch is void, an update went back, data went with an engine, or an actor is on its way back.
RECOVERABLE = (outrider.Refused, outrider.UpdateFailed, outrider.DataError, RayActorError)


class Job:
    """The driver's side: the order of a step, and the way back after a failure."""

    def __init__(self, run: outrider.Run, settings: Settings) -> None:
        self.run, self.settings = run, settings
        self.trainer = Trainer.options(name="trainer").remote(run, str(settings.out), settings.seed)
        self.weights, _ = self.trainer.weights.remote()
        self.engines = [Engine.options(name=f"engine-{i}").remote(run, settings.seed) for i in range(2)]
        ray.get([engine.__ray_ready__.remote() for engine in self.engines])
        self.serving = [engine.serve.remote() for engine in self.engines]
        owner = ray.get_actor(f"outrider:{run.name}")
        victims = {"engine": self.engines[0], "trainer": self.trainer, "owner": owner}
        kills = faults.plan(settings.steps) if settings.faults else []
        self.faults = faults.Faults(kills, settings.steps, victims)
        self.ahead: outrider.Lease | None = None  # taken while the step before it trains
        self.trained: dict[int, Trained] = {}

    def train(self) -> None:
        step = self.run.next_rollout
        if 0 < step < self.settings.steps:
            self.bring(step)  # the engines began with other weights than those of the checkpoint
        while step < self.settings.steps:
            try:
                self.step(step)
                step += 1
            except RECOVERABLE as problem:
                self.say(step, brief(problem))
                step = self.recover()

    def step(self, step: int) -> None:
        """One rollout: take, publish, admit, commit, train; then new weights for the engines."""
        lease, self.ahead = self.ahead or self.run.take(step, PATIENCE), None
        self.faults.at("taken", step)
        ray.get(self.trainer.admit.remote(lease.publish()))
        self.faults.at("admitted", step)
        lease.commit()
        self.faults.at("committed", step)
        self.weights, trained = self.trainer.train.remote(step)
        if step + 1 < self.settings.steps:
            self.ahead = self.run.take(step + 1, PATIENCE)
        self.trained[step] = ray.get(trained)
        self.update(step)
        if (step + 1) % self.settings.every == 0:
            ray.get(self.trainer.save.remote(self.run.state(step)))
            self.run.saved(step)
        self.progress(step)

    def update(self, step: int) -> None:
        """Version `step + 1` is the weights after rollout `step`."""
        undo = self.faults.refuse(step)
        report = self.run.update_weights(
            step + 1, send=self.send, restore=self.restore if undo and self.settings.owned else None
        )
        if self.ahead and self.ahead.admission in report.revoked:
            self.ahead = None  # its groups would be too stale for the weights they meet; they are sampled again
        if report.unconfirmed:
            names = ", ".join(engine.name for engine in report.unconfirmed)
            self.say(step, f"version {step + 1} goes on without {names}: no work until it confirms a version")

    def send(self, version: int, members: outrider.Members) -> None:
        ray.get([engine.load.remote(version, self.weights) for engine in members.actors])

    def restore(self, version: int) -> None:
        """Puts the trainer back to the weights of `version`."""
        ray.get(self.trainer.restore.remote())
        self.weights, _ = self.trainer.weights.remote()

    def recover(self) -> int:
        """Waits for the trainer, restarted or not, and brings run and engines to the weights that it has."""
        self.ahead = None
        for _ in range(60):
            try:
                self.weights, last = self.trainer.weights.remote()
                step = self.agree(ray.get(last))
                self.bring(step)
            except RECOVERABLE as problem:
                self.say(None, f"not back yet: {brief(problem)}")
                time.sleep(1)
            else:
                self.say(step, "goes on")
                return step
        raise RuntimeError("the run did not come back")

    def bring(self, step: int) -> None:
        """Brings the engines to the weights that `step` begins with; the step before it may have ended before they had a version."""
        if self.run.stats().announced_version < step:
            self.run.update_weights(step, send=self.send)
        else:
            self.run.rebroadcast(self.send)

    def agree(self, last: int) -> int:
        """Brings the run to the last rollout that the trainer's weights contain; returns the next one."""
        step = self.run.next_rollout
        if not self.settings.owned:
            return max(step, last + 1)  # what the weights have lost stays lost
        if step > last + 1:
            ray.get(self.trainer.say.remote())  # a step whose commit was answered was not taken
            self.run.rewind(last)
        return last + 1

    def progress(self, step: int) -> None:
        reward = self.trained[step].reward
        line = f"step {step + 1}/{self.settings.steps} · reward {reward:.3f} · {self.run.progress()}"
        if sys.stdout.isatty():
            print(f"\r\033[K{line}", end="", flush=True)
        elif (step + 1) % TOLD_EVERY == 0:
            print(line, flush=True)

    def say(self, step: int | None, what: str) -> None:
        start = "\r\033[K" if sys.stdout.isatty() else ""
        print(f"{start}{'' if step is None else f'step {step}: '}{what}", flush=True)


def brief(problem: BaseException) -> str:
    """An error in one line."""
    if isinstance(problem, RayTaskError):
        problem = problem.cause  # its own text is the whole trace of the actor's error
    if isinstance(problem, RayActorError):
        return f"{type(problem).__name__}: Ray is restarting the actor"
    return textwrap.shorten(f"{type(problem).__name__}: {problem}", 220, placeholder=" …")


def main() -> int:
    settings = Settings()
    settings.prepare()
    ray.init(**settings.ray)
    begun = time.monotonic()
    saved = checkpoint.last(settings.out / "checkpoints") if settings.resume else None
    with outrider.start(
        "spelling",
        source=outrider.table(prompts(rows=settings.words), shuffle=True, seed=settings.seed, epochs=settings.epochs),
        group_size=grpo.GROUP_SIZE,
        batch_groups=grpo.BATCH_GROUPS,
        limits=outrider.Limits(executing=128, retained=32, completed=32),
        policy=outrider.Policy(max_staleness=MAX_STALENESS),
        ownership=settings.ownership,
        state=saved and saved.outrider,
    ) as run:
        job = Job(run, settings)
        job.train()
        trained = time.monotonic() - begun
        evidence = closing.gather(job)
    return closing.judge(evidence, run.stats(), settings, trained)


if __name__ == "__main__":
    sys.exit(main())
