"""The end of the job: evidence from the actors, then the verdict."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import outrider
import ray

import faults
import grpo
import lineage
import report
from replay import replay
from settings import Settings

if TYPE_CHECKING:
    from job import Job
    from trainer import Trained


class Evidence(NamedTuple):
    """What the actors know and the ledger does not."""

    history: str  # the trainer's lineage file
    digest: bytes  # of the weights it holds
    trained: "dict[int, Trained]"  # rollout -> its step, of those in the weights
    memory: dict[str, int]  # member -> resident bytes of its sidecar


def gather(job: "Job") -> Evidence:
    """Asks the actors while the run is still open."""
    members = {f"engine {i}": engine for i, engine in enumerate(job.engines)} | {"trainer": job.trainer}
    memory = {name: ray.get(actor.__ray_call__.remote(report.sidecar_memory)) for name, actor in members.items()}
    memory |= {"owner": job.run.stats().resident_bytes, "driver": report.sidecar_memory()}
    return Evidence(
        ray.get(job.trainer.history.remote()),
        grpo.digest(ray.get(job.weights)),
        dict(sorted(job.trained.items())),
        memory,
    )


def judge(found: Evidence, stats: outrider.Stats, settings: Settings, seconds: float) -> int:
    """Prints and keeps the table; returns the exit code: 0 when everything that was promised is shown."""
    books, past = stats.books, lineage.follow(lineage.read(found.history))
    account = lineage.account(past, settings.words)
    rewards = [step.reward for step in found.trained.values()]
    first, last = report.means(rewards or [0.0])
    admit, value = (
        1e3 * np.median([getattr(step, name) for step in found.trained.values()] or [0.0])
        for name in ("admit", "first")
    )
    rows = [
        ("steps", f"{len(rewards)} in {seconds:.0f} s, seed {settings.seed}"),
        ("reward", f"{first:.3f} -> {last:.3f} (+{last - first:.3f})" if rewards else "trained before"),
        ("groups reserved", f"{books.reserved.groups}"),
        ("  acknowledged", f"{books.acknowledged.groups}"),
        ("  discarded", f"{sum(part.groups for part in books.discarded.values())}"),
        ("  failed", f"{books.failed.groups}"),
        ("  live", f"{books.live.groups}"),
        ("to be replayed", f"{stats.replay} groups were under way at the end and are back in the source"),
        ("requeued", f"{stats.requeued} times a group went back to the source"),
        ("tokens trained", f"{books.acknowledged.tokens}"),
        ("staleness", f"mean {stats.staleness_mean:.2f}, max {stats.staleness_max} versions"),
        ("handover", f"admit() {admit:.1f} ms, then the first token in {value:.2f} ms (medians)"),
        ("sidecar memory", ", ".join(f"{name} {size / 2**20:.0f} MB" for name, size in found.memory.items())),
        ("owner", f"term {stats.term}, {stats.rewinds} rewinds, timeline {stats.timeline}"),
    ]
    problems = [] if books.closed else ["the books are open"]
    if not settings.owned:
        rows += loss(account)
    else:
        outside = stats.replay + books.reserved.groups - books.acknowledged.groups
        problems += lineage.prove(account, books.acknowledged.groups, outside)
        problems += lineage.cover(account, settings.words * (settings.epochs or 0))
        problems += rebuilt(past, found, settings)
        rows += [
            ("books", "closed" if books.closed else "OPEN"),
            ("lineage", f"{account.trained} groups, each once in the final weights" if not problems else "NOT proven"),
            ("  given up", f"{len(past.thrown_away)} steps, by restarts and rollbacks, and trained anew"),
        ]
    text = report.table(rows) + "".join(f"\nFAILED: {problem}" for problem in problems)
    print("\n" + text)
    (settings.out / "summary.txt").write_text(text + "\n")
    marks = [(kill.step, f"SIGKILL {kill.victim}") for kill in faults.plan(settings.steps)] if settings.faults else []
    if rewards:
        report.curve(settings.out / "reward.png", rewards, marks)
    print(f"\nleft in {settings.out}: reward.png, summary.txt, lineage.jsonl")
    return 1 if problems else 0


def loss(account: lineage.Account) -> list[tuple[str, str]]:
    """What a run without leases has lost."""
    return [
        ("groups lost", f"{len(account.thrown_away)} were trained only into weights that a restart gave up"),
        ("trained twice", f"{len(account.twice)}"),
        ("never trained", f"{len(account.absent)}"),
    ]


def rebuilt(past: lineage.Lineage, found: Evidence, settings: Settings) -> list[str]:
    """Makes the weights again from the lineage, and compares them with those that the trainer has."""
    if not past.rollouts or past.rollouts[-1]["digest"] != found.digest.hex():
        return ["the trainer's weights are not those of its lineage's last line"]
    difference = replay(past, settings.seed)
    return [f"training the lineage again gives other weights: {difference}"] if difference else []
