"""Actors of the tests: an engine that works only as far as it is told, and a trainer rank."""

import os
import signal
from pathlib import Path

import ray

import outrider
from outrider import _wire_pb2 as wire


def rows(count):
    return [{"question": f"question {i}"} for i in range(count)]


def samples(work, group_size):
    """One sample a slot, which says whose it is."""
    return [outrider.Sample([work.group, work.attempt, slot], 1, reward=0.5) for slot in range(group_size)]


def pairs(*batches):
    """Group and attempt of the batches' groups, in their order, by what the rows say themselves."""
    return sorted((int(group.tokens[0]), int(group.tokens[1])) for batch in batches for group in batch.groups())


def sigkill(actor):
    """Kills an actor's process at once, and returns when its next life answers."""
    pid = ray.get(actor.__ray_call__.remote(lambda self: os.getpid()))
    os.kill(pid, signal.SIGKILL)
    again = actor.__ray_call__.options(max_task_retries=-1).remote(lambda self: os.getpid())
    assert ray.get(again) != pid


def die_once(path):
    """Ends this process in the middle of a call, in its actor's first life that comes here."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os._exit(1)


@ray.remote(max_restarts=-1, num_cpus=0, max_concurrency=4)
class Engine:
    """A worker that is its own engine; a threaded actor, so that it can be told things while it serves."""

    def __init__(self, run, slots=64):
        self.worker = outrider.Worker(run, slots=slots)
        self.held = []
        self.made = []  # (group, attempt) that it generated
        self.events = []

    @ray.method(max_task_retries=-1)
    def processes(self):
        """Pids of this actor and of its sidecar."""
        return os.getpid(), self.worker._member.attachment.sidecar.pid

    def session(self):
        return self.worker._member.joined.session

    def hold(self, count):
        """Waits for that many groups and keeps them running; gives their assignments."""
        stream = self.worker.groups()
        self.held += [next(stream) for _ in range(count)]
        return [
            (work.granted.SerializeToString(), work.group, work.attempt, work.execution, work.row, work.version)
            for work in self.held
        ]

    def complete(self, count):
        """Ends that many of them; says for each whether the owner took it."""
        ending, self.held = self.held[:count], self.held[count:]
        return [self._complete(work) for work in ending]

    def complete_as(self, assignment):
        """Reports work that another life of this actor was given."""
        granted, *rest = assignment
        return self._complete(outrider.Work(self.worker, wire.Receipts.FromString(granted), *rest))

    def serve(self):
        """Completes whatever comes until the run ends or the worker is closed."""
        for work in self.worker.groups():
            self.events.append(f"work of version {work.version}")
            self._complete(work)

    def _complete(self, work):
        self.made.append((work.group, work.attempt))
        return work.complete(samples(work, self.worker.group_size))

    def load(self, version):
        self.events.append(f"load {version}")
        self.worker.confirm(version)

    @ray.method(max_task_retries=-1)
    def load_and_die(self, version, path):
        self.load(version)
        die_once(path)

    def history(self):
        return self.made, self.events

    def segfault(self):
        import ctypes

        ctypes.string_at(0)

    def leave(self):
        ray.actor.exit_actor()


@ray.remote(max_restarts=-1, num_cpus=0)
class Trainer:
    """A trainer rank whose weights are the number of the last rollout in its checkpoint's file."""

    def __init__(self, run, checkpoint):
        self.checkpoint = Path(checkpoint)
        last, state = -1, None
        if self.checkpoint.exists():
            number, state = self.checkpoint.read_bytes().split(b"\n", 1)
            last = int(number)
        self.trainer = outrider.Trainer(run, state_at=last, state=state)

    @ray.method(max_task_retries=-1)
    def processes(self):
        return os.getpid(), self.trainer._member.attachment.sidecar.pid

    def next(self, rollout):
        self.batch = self.trainer.next(rollout)
        return pairs(self.batch)

    def admit(self, publication):
        self.batch = self.trainer.admit(publication)
        return pairs(self.batch)

    def save(self, rollout, state):
        self.checkpoint.write_bytes(b"%d\n" % rollout + state)
