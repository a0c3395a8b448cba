"""Async, threaded and sync actors, each engine and trainer at once."""

import asyncio
import threading

import actors
import ray

import outrider


@ray.remote(num_cpus=0)
class Async:
    """Everything awaited, on the actor's one event loop."""

    def __init__(self, run):
        self.run, self.worker, self.trainer = run, outrider.Worker(run, slots=8), outrider.Trainer(run)
        self.beats = 0
        self.threads = set()

    async def beat(self):
        while True:
            self.beats += 1
            self.threads.add(threading.get_ident())
            await asyncio.sleep(0)

    async def waits(self):
        """A take that nothing can fill while the loop turns beside it; then the whole life."""
        beating = asyncio.create_task(self.beat())
        await self.run.stats_async()
        taking = asyncio.create_task(self.run.take_async(0))
        await self.run.stats_async()  # asked after the take, so the owner has that
        before = self.beats
        for _ in range(100):
            await asyncio.sleep(0)
        turned, waited = self.beats - before, not taking.done()
        serving = asyncio.create_task(self.worker.serve(self.generate))
        lease = await taking
        batch = await self.trainer.admit_async(await lease.publish_async())
        await lease.commit_async()
        last = await self.trainer.next_async(1)
        serving.cancel()
        beating.cancel()
        await asyncio.gather(serving, beating, return_exceptions=True)
        return waited, turned, len(self.threads), actors.pairs(batch, last)

    async def generate(self, prompt):
        await asyncio.sleep(0)
        return outrider.Sample([prompt.group, prompt.attempt, prompt.slot], 1, reward=0.5)


@ray.remote(num_cpus=0)
class Threaded:
    """One thread serves while others take and look."""

    def __init__(self, run):
        self.run, self.worker, self.trainer = run, outrider.Worker(run, slots=8), outrider.Trainer(run)
        self.taking = threading.Event()

    def serve(self):
        self.taking.wait()
        for work in self.worker.groups():
            work.complete(actors.samples(work, self.worker.group_size))

    def train(self):
        return actors.pairs(self.trainer.next(0), self.trainer.next(1))

    def look(self):
        self.taking.set()
        return self.run.stats().trainers


@ray.remote(num_cpus=0)
class Sync:
    """One thread does one thing after the other."""

    def __init__(self, run):
        self.run, self.worker, self.trainer = run, outrider.Worker(run, slots=8), outrider.Trainer(run)

    def all(self):
        batches = []
        works = iter(self.worker.groups())
        for rollout in range(2):
            for _ in range(2):
                work = next(works)
                assert work.complete(actors.samples(work, self.worker.group_size))
            batches.append(self.trainer.next(rollout))
        return actors.pairs(*batches)


ALL = [(group, 1) for group in range(4)]


def finish(run):
    stats = run.close()
    stats.books.check()
    assert stats.books.acknowledged.groups == 4


def test_L_11_an_async_actor_whose_event_loop_turns_while_a_take_waits(start):
    run = start("async", count=4)
    waited, turned, threads, trained = ray.get(Async.remote(run).waits.remote())
    assert waited
    assert turned >= 100
    assert threads == 1
    assert trained == ALL
    finish(run)


def test_L_11_a_threaded_actor_answers_while_its_take_waits(start):
    run = start("threaded", count=4)
    actor = Threaded.options(max_concurrency=3).remote(run)
    serving, training = actor.serve.remote(), actor.train.remote()
    assert ray.get(actor.look.remote()) == 1
    assert ray.get(training) == ALL
    finish(run)
    ray.get(serving)


def test_L_11_a_sync_actor_is_engine_and_trainer(start):
    run = start("sync", count=4)
    actor = Sync.remote(run)
    assert ray.get(actor.all.remote()) == ALL
    finish(run)
