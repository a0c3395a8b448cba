"""The whole job killed again and again: every process of it by SIGKILL, at random moments, then started from its last checkpoint.

    python resume.py --kills 100           about a third of a minute a kill on two cores

The job (job.py) goes through a shuffled source a fixed number of times. When it is through, the trainer's lineage, one file over all its
lives, must show each group of each epoch exactly once in the final weights, and training it again, from the words alone, must give them
bit for bit. As long as kills are left, another run with another seed begins.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import suppress
from pathlib import Path

import grpo
import lineage

JOB = Path(__file__).with_name("job.py")
MARK = "SPELLING_RESUME"  # in the environment of every process of the job, so that none is missed


class Life:
    """One start of the job, with everything that it starts."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self.mark = uuid.uuid4().hex
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, str(JOB)],
                env={**environment, MARK: self.mark},
                cwd=log.parent,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def everyone(self) -> list[int]:
        """The processes of this life: driver, Ray's own, actors, sidecars."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
        return found

    def kill(self) -> int:
        """SIGKILL to all at once, until none is left; returns how many there were."""
        killed = set()
        while alive := self.everyone():
            for pid in alive:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            killed.update(alive)
            self.process.poll()  # a zombie has an empty environment, but it is to go as well
        self.process.wait()
        return len(killed)


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def live(life: Life, out: Path, chance: random.Random, every: int) -> bool:
    """Waits for a random moment; False when the job has ended before it."""
    path = out / "lineage.jsonl"
    until, extra = lines(path) + chance.randint(0, 3 * every), chance.random()
    while life.process.poll() is None and lines(path) < until:
        time.sleep(0.02)
    moment = time.monotonic() + extra
    while life.process.poll() is None and time.monotonic() < moment:
        time.sleep(0.005)
    return life.process.poll() is None


def whole(given: argparse.Namespace, seed: int, kills: int, first: int) -> tuple[int, list[str]]:
    """One run from its start to its end, killed at most `kills` times. Returns how often it was, and what speaks against it."""
    groups = given.words * given.epochs
    steps = -(-groups // grpo.BATCH_GROUPS)
    out = given.out.resolve() / f"seed-{seed}"
    out.mkdir(parents=True)
    chance = random.Random(seed)
    killed = 0
    # Short, because Ray puts sockets there.
    with tempfile.TemporaryDirectory(prefix="r") as session:
        environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
        environment |= {
            "RAY_TMPDIR": session, "RESUME": "1", "OUT": str(out), "SEED": str(seed), "STEPS": str(steps),
            "WORDS": str(given.words), "EPOCHS": str(given.epochs), "CHECKPOINT_EVERY": str(given.every),
        }  # fmt: skip
        while True:
            life = Life(environment, out / "job.log")
            if killed == kills or not live(life, out, chance, given.every):
                break
            count = life.kill()
            killed += 1
            at = len(lineage.follow(past(out)).rollouts)
            print(f"kill {first + killed}: {count} processes, after {at} of {steps} steps", flush=True)
        try:
            code = life.process.wait()
        finally:
            life.kill()
    summary = out / "summary.txt"
    print(summary.read_text() if summary.exists() else (out / "job.log").read_text()[-4000:])
    found = lineage.follow(past(out))
    account = lineage.account(found, given.words)
    problems = lineage.cover(account, groups) + account.problems + (["the job failed"] if code else [])
    print(f"kills            {killed}, of the whole job")
    print(f"steps            {len(found.rollouts)} in the weights, {len(found.thrown_away)} given up and trained anew")
    print(
        f"epochs           {given.epochs} of {given.words} groups, {'each group once' if not problems else 'NOT exact'}"
    )
    for problem in problems:
        print(f"FAILED: {problem}")
    print(flush=True)
    return killed, problems


def past(out: Path) -> list[lineage.Record]:
    """What the trainer has written down so far."""
    path = out / "lineage.jsonl"
    return lineage.read(path.read_text()) if path.exists() else []


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--words", type=int, default=512, help="prompts of one epoch")
    options.add_argument("--epochs", type=int, default=3)
    options.add_argument("--every", type=int, default=4, help="steps between checkpoints")
    options.add_argument("--seed", type=int, default=0, help="of the first run")
    options.add_argument("--out", type=Path, default=Path("build/resume"))
    given = options.parse_args()
    shutil.rmtree(given.out, ignore_errors=True)
    spent, seed, problems = 0, given.seed, []
    while spent < given.kills and not problems:
        killed, problems = whole(given, seed, given.kills - spent, spent)
        spent += killed
        seed += 1
    print(f"runs             {seed - given.seed}, killed {spent} times" + ("; the last one FAILED" if problems else ""))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
