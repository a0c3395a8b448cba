"""The inner job of the composition run: one fact after the other, on two engines and a trainer."""

from typing import Any

import numpy as np
import outrider
import ray

import faults
import grpo
import lineage
import model
from engine import Engine
from facts import Facts
from generate import group
from replay import replay
from settings import Settings
from trainer import Trainer
from words import prompts

PROMPTS = 256
STEPS = 8  # at most: a hold finds groups running in the first of them, unless this process was stopped just then
EVALUATED = 8  # prompts, none of which is trained on


def main(settings: Settings) -> int:
    """Returns the number of facts that do not hold."""
    settings.prepare()
    ray.init()
    with outrider.start(
        "composition",
        source=outrider.table(prompts(rows=PROMPTS), shuffle=True, seed=settings.seed),
        group_size=grpo.GROUP_SIZE,
        batch_groups=grpo.BATCH_GROUPS,
        limits=outrider.Limits(executing=8 * grpo.GROUP_SIZE, retained=32, completed=32),
        policy=outrider.Policy(max_staleness=2),
    ) as run:
        job = Composition(run, settings)
        job.show()
        past = job.record()
    stats = run.stats()
    account = lineage.account(past, PROMPTS)
    outside = stats.replay + stats.books.reserved.groups - stats.books.acknowledged.groups
    problems = lineage.prove(account, stats.books.acknowledged.groups, outside)
    difference = replay(past, settings.seed)
    job.facts.show(
        "the final weights contain each acknowledged group once",
        (
            stats.books.closed,
            f"books: {stats.books.reserved.groups} reserved = {stats.books.acknowledged.groups} acknowledged + {stats.books.live.groups} live",
        ),
        (not problems, "; ".join(problems) or f"the trainer's own record: {account.trained} groups, each once"),
        (
            difference is None,
            difference
            or f"trained again from that record alone: {past.rollouts[-1]['digest'][:16]}, equal bit for bit",
        ),
    )
    return len(job.facts.failed)


class Composition:
    """The inner job."""

    def __init__(self, run: outrider.Run, settings: Settings) -> None:
        self.run, self.seed, self.facts = run, settings.seed, Facts()
        self.trainer = Trainer.remote(run, str(settings.out), settings.seed)
        self.engines = [Engine.remote(run, settings.seed) for _ in range(2)]
        ray.get([engine.__ray_ready__.remote() for engine in self.engines])
        self.serving = [engine.serve.remote() for engine in self.engines]
        self.first = self.weights = self.fetch()
        self.leased: dict[int, int] = {}  # version -> groups that were leased when it was sent last

    def show(self) -> None:
        lost = self.step()
        self.roll_back()
        rollout = self.replay(lost)
        self.overwrite()
        self.hold(rollout)

    def fetch(self) -> model.Params:
        return ray.get(self.trainer.weights.remote()[0])

    def send(self, version: int, members: outrider.Members) -> None:
        self.leased[version] = self.run.stats().books.live_groups["leased"]
        ray.get([engine.load.remote(version, self.weights) for engine in members.actors])

    def restore(self, version: int) -> None:
        ray.get(self.trainer.restore.remote())
        self.weights = self.fetch()

    def commit(self, rollout: int) -> list[int]:
        """Takes a batch up to the point from which it counts as trained; returns its groups."""
        with self.run.take(rollout) as lease:
            ray.get(self.trainer.admit.remote(lease.publish()))
            lease.commit()
        return [one.group for one in lease.groups]

    def train(self, rollout: int) -> None:
        """One optimizer step on the committed batch."""
        self.weights, _ = ray.get(list(self.trainer.train.remote(rollout)))

    def record(self) -> lineage.Lineage:
        """The trainer's own, of what its weights contain."""
        return lineage.follow(lineage.read(ray.get(self.trainer.history.remote())))

    def same_everywhere(self) -> tuple[bool, str]:
        """Compares what is in the engines' memory with the trainer's weights, bit for bit."""
        held = ray.get([engine.__ray_call__.remote(lambda self: self.weights) for engine in self.engines])
        same = all(np.array_equal(one[name], self.weights[name]) for one in held for name in self.weights)
        digests = ", ".join(brief(one) for one in held)
        return same, f"trainer {brief(self.weights)}, engines {digests}{': equal bit for bit' if same else ''}"

    def step(self) -> list[int]:
        groups = self.commit(0)
        self.train(0)
        count = ray.get(self.trainer.__ray_call__.remote(lambda self: int(self.state.optimizer[0].count)))
        size = sum(value.size for value in self.first.values())
        moved = sum(int((self.weights[name] != value).sum()) for name, value in self.first.items())
        self.facts.show(
            "one real optimizer step",
            (len(groups) == grpo.BATCH_GROUPS, f"rollout 0 is {len(groups)} groups of {grpo.GROUP_SIZE} samples"),
            (count == 1, f"Adam has counted {count} step"),
            (moved > size // 2, f"{moved} of {size} parameters changed: {brief(self.first)} -> {brief(self.weights)}"),
        )
        return groups

    def roll_back(self) -> None:
        """A lease is open while an engine refuses version 1, however often it is sent."""
        ahead, requeued = self.run.take(1), self.run.stats().requeued
        ray.get(self.engines[0].refuse.remote(1, faults.SENT))
        failure = void = "nothing was refused"
        try:
            self.run.update_weights(1, send=self.send, restore=self.restore)
        except outrider.UpdateFailed as error:
            failure = str(error)
        try:
            ahead.publish()
        except outrider.Refused as error:
            void = str(error)
        stats, record = self.run.stats(), self.record()
        ledger = stats.announced_version, stats.next_rollout, stats.books.acknowledged.groups
        self.facts.show(
            "an update that fails takes weights, ledger and engines back together",
            ("are back at version 0" in failure, failure),
            (self.leased[1] > 0, f"{self.leased[1]} groups were leased when version 1 was sent"),
            (self.leased[0] == 0, f"{self.leased[0]} when version 0 was sent again: {void}"),
            (stats.requeued > requeued, f"{stats.requeued - requeued} groups went back to the source"),
            (ledger == (0, 0, 0), "ledger: version {}, next rollout {}, {} groups acknowledged".format(*ledger)),
            (
                not record.problems and not record.rollouts and len(record.thrown_away) == 1,
                f"trainer: its own record has gone back by {len(record.thrown_away)} rollout",
            ),
            (brief(self.weights) == brief(self.first), f"its weights were {brief(self.first)} at version 0"),
            self.same_everywhere(),
        )

    def replay(self, lost: list[int]) -> int:
        """Trains until the groups of the lost step are in the weights; returns the next rollout."""
        for rollout in range(STEPS):
            self.commit(rollout)
            self.train(rollout)
            self.run.update_weights(rollout + 1, send=self.send)
            record = self.record()
            again = [member for member in members(record.rollouts) if member.group in lost]
            if len(again) >= len(lost):
                break
        prompts_then = {member.group: member.word for member in members(record.thrown_away)}
        prompts_now = {member.group: member.word for member in again}
        self.facts.show(
            "the groups of the lost step replay and train once",
            (
                sorted(member.group for member in again) == sorted(lost),
                f"all {len(lost)} are in the weights after {rollout + 1} steps, each once",
            ),
            (
                prompts_then == prompts_now,
                f"with the prompts that they had: {', '.join(list(prompts_now.values())[:4])} …",
            ),
        )
        return rollout + 1

    def overwrite(self) -> None:
        """Takes the weights away from the engines; a rebroadcast brings them back."""
        ray.get([engine.__ray_call__.remote(forget_weights) for engine in self.engines])
        same, digests = self.same_everywhere()
        waiting = self.run.stats().unconfirmed
        report = self.run.rebroadcast(self.send)
        self.facts.show(
            "engine weights overwritten, and sent again",
            (not same, f"overwritten with zeros: {digests}"),
            (waiting == len(self.engines), f"{waiting} engines were out of dispatch"),
            (len(report.confirmed) == len(self.engines), f"{len(report.confirmed)} confirmed version {report.version}"),
            self.same_everywhere(),
        )

    def hold(self, rollout: int) -> None:
        """Evaluates between a commit, which lets new groups begin, and the step."""
        for step in range(rollout, rollout + STEPS):
            self.commit(step)
            before = self.run.stats()
            with self.run.hold("evaluation"):
                during = self.run.stats()
                rewards = ray.get([engine.__ray_call__.remote(evaluate, self.seed) for engine in self.engines])
                after = self.run.stats()
            reopened = self.run.stats()
            self.train(step)
            self.run.update_weights(step + 1, send=self.send)
            if before.executing.used and during.retained.used < during.retained.limit:
                break
        ended = during.completed.used - before.completed.used
        room = during.retained.limit - during.retained.used
        self.facts.show(
            "one hold with work in it",
            (before.executing.used > 0, f"{before.executing.used} samples ran when it was asked for"),
            (
                during.executing.used == 0 < ended,
                f"they ended first: {ended} more groups are complete, nothing is lost",
            ),
            (
                during.holds == 1 and begun(during) == begun(after) and room > 0,
                f"within it nothing began, with room for {room} groups",
            ),
            (
                len(set(rewards)) == 1,
                f"within it each engine answered {EVALUATED} prompts: mean reward {rewards[0]:.3f}",
            ),
            (
                reopened.holds == 0 and begun(reopened) > begun(after),
                f"after it {begun(reopened) - begun(after)} groups began at once",
            ),
        )


def forget_weights(engine: Any) -> None:
    engine.weights = {name: np.zeros_like(value) for name, value in engine.weights.items()}
    engine.worker.confirm(0)  # it says so: what it has is not the announced version


def evaluate(engine: Any, seed: int) -> float:
    """Mean reward of answers to prompts that are not in the source."""
    rows = prompts(rows=PROMPTS + EVALUATED).slice(PROMPTS).to_pylist()
    made = [group(engine.weights, row, (seed, PROMPTS + i, 0), engine.scorer) for i, row in enumerate(rows)]
    return float(np.mean([one.reward for one in made]))


def begun(stats: outrider.Stats) -> int:
    """Groups that have left the source."""
    return stats.cursor - stats.replay


def members(rollouts: list[lineage.Record]) -> list[lineage.Member]:
    return [lineage.Member(*member) for record in rollouts for member in record["groups"]]


def brief(params: model.Params) -> str:
    return grpo.digest(params).hex()[:16]
