"""Several trainer ranks and roles, each rank a process with a sidecar of its own."""

import contextlib
import itertools
import multiprocessing
import pickle
import resource
from pathlib import Path

import numpy as np
import pytest
from test_life import engine, sample

import outrider

SPAWN = multiprocessing.get_context("spawn")


def serve(run, pipe, options):
    """A rank's process: does what it is asked until the pipe ends."""
    held = None
    with outrider.Trainer(run, **options) as trainer, contextlib.suppress(EOFError):
        pipe.send(None)
        while True:
            publication, shard = pipe.recv()
            if publication is None:
                pipe.send(mapped())
                continue
            try:
                held = trainer.admit(publication, shard)
                pipe.send([(g.group, g.attempt, g.tokens.tolist()) for g in held.groups()])
            except outrider.Error as error:
                pipe.send(error)


def mapped():
    """Inodes of the segments that this process has mapped, one for each mapping."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return sorted(int(line.split()[4]) for line in lines if "memfd:outrider" in line)


def generate(run):
    """An engine's process: completes whatever it gets."""
    with outrider.Worker(run, slots=8) as worker:
        for work in worker.groups():
            work.complete([sample(work.prompt(slot)) for slot in range(worker.group_size)])


def generate_when_told(run, pipe):
    """An engine's process: has joined when it says so, completes whatever it gets from when it is told."""
    with outrider.Worker(run, slots=8) as worker:
        works = worker.groups()
        first = next(works)
        pipe.send("ready")
        pipe.recv()
        for work in itertools.chain([first], works):
            work.complete([sample(work.prompt(slot)) for slot in range(worker.group_size)])


@contextlib.contextmanager
def no_more_descriptors(member):
    """The sidecar of a member can open nothing while the block runs."""
    pid = member._member.attachment.sidecar.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (1, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


class Rank:
    """One rank, from the controller's side."""

    def __init__(self, run, **options):
        self.pipe, there = SPAWN.Pipe()
        self.process = SPAWN.Process(target=serve, args=(run, there, options))
        self.process.start()
        there.close()

    def answer(self):
        answer = self.pipe.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def admit(self, publication, shard=None):
        """(group, attempt, tokens) of what it holds then."""
        self.pipe.send((publication, shard))
        return self.answer()

    def mapped(self):
        self.pipe.send((None, None))
        return self.answer()

    def kill(self):
        self.process.kill()
        self.process.join()


@pytest.fixture
def rank():
    """Starts ranks; they have attached once `answer` returns."""
    made = []

    def make(run, **options):
        made.append(Rank(run, **options))
        return made[-1]

    yield make
    for one in made:
        one.pipe.close()
    for one in made:
        one.process.join()


@pytest.fixture
def cohort(rank):
    """Two actors and a critic, attached."""

    def make(run, **options):
        ranks = [
            rank(run, role="actor", rank=0, world_size=2, **options),
            rank(run, role="actor", rank=1, world_size=2, **options),
            rank(run, role="critic", **options),
        ]
        for one in ranks:
            one.answer()
        return ranks

    return make


ROLES = {"actor": 2, "critic": 1}


def test_S6_02_S6_07_actors_and_a_critic_read_their_shards_and_commit_together(own, cohort):
    run = own(count=8, epochs=1, batch_groups=4)
    trained = []
    with engine(run):
        first, second, critic = cohort(run)
        for rollout in range(2):
            with run.take(rollout) as lease:
                publication = lease.publish(shards=2, roles=ROLES)
                assert pickle.loads(pickle.dumps(publication)).roles == ROLES
                left = first.admit(publication)
                with pytest.raises(outrider.NotAdmitted, match=r"actor\[1\] has not admitted"):
                    lease.commit()
                right = second.admit(publication)
                with pytest.raises(outrider.NotAdmitted, match=r"critic\[0\] has not admitted"):
                    lease.commit()
                assert critic.admit(publication) == left + right
                lease.commit()
            assert [len(left), len(right)] == [2, 2]
            trained += [group for group, _, _ in left + right]
            assert run.next_rollout == rollout + 1
    assert sorted(trained) == list(range(8))
    assert run.close().books.acknowledged.groups == 8


def test_S6_04_ranks_that_would_not_read_every_shard_equally_often_are_refused(own, cohort):
    run = own(count=4, batch_groups=4)
    with engine(run):
        first, second, critic = cohort(run)
        lease = run.take(0)
        publication = lease.publish(shards=[[0, 1, 6, 7], [5, 4, 3, 2]], roles=ROLES)
        with pytest.raises(outrider.ConfigError, match="shard=2 of a publication of 2 shards"):
            first.admit(publication, 2)
        assert [group for group, *_ in first.admit(publication, 0)] == [0, 3]
        with pytest.raises(outrider.Refused, match=r"would read the shards of admission \d+ \[2 0\] times"):
            second.admit(publication, 0)
        assert [group for group, *_ in second.admit(publication, 1)] == [2, 1]
        with pytest.raises(outrider.Refused, match=r'"critic" would read .* \[0 1\] times'):
            critic.admit(publication, 1)
        assert [group for group, *_ in critic.admit(publication, [1, 0])] == [2, 1, 0, 3]
        lease.commit()


def test_S6_04_more_shards_than_groups_are_refused(own):
    run = own()
    with engine(run), outrider.Trainer(run), run.take(0) as lease:
        with pytest.raises(outrider.ConfigError, match="shards=3 of a batch of 2 groups"):
            lease.publish(shards=3)
        with pytest.raises(outrider.ConfigError, match="shards=True is a bool"):
            lease.publish(shards=True)
        with pytest.raises(
            outrider.ConfigError, match="roles\\['trainer'\\]=1208925819614629174706176 is out of range"
        ):
            lease.publish(roles={"trainer": 1 << 80})
        assert len(lease.publish(shards=np.int64(2)).shards) == 2
        lease.rollback("seen")


def test_S6_05_S6_11_a_rank_that_was_replaced_is_named_and_the_lease_is_published_again(own, rank, cohort):
    run = own(count=4, batch_groups=4)
    with engine(run):
        first, second, critic = cohort(run)
        lease = run.take(0)
        publication = lease.publish(shards=2, roles=ROLES)
        for one in (first, second, critic):
            one.admit(publication)
        second.kill()
        second = rank(run, role="actor", rank=1, world_size=2)
        second.answer()
        with pytest.raises(outrider.CohortChanged, match="publish it again or roll it back"):
            lease.commit()
        publication = lease.publish(shards=2, roles=ROLES)
        groups = [one.admit(publication) for one in (first, second, critic)]
        lease.commit()
        assert groups[0] + groups[1] == groups[2]


def test_S6_12_ranks_of_one_host_map_one_shard_once(own, cohort):
    run = own(count=2, epochs=1)
    with engine(run) as worker:
        first, second, critic = cohort(run)
        with run.take(0) as lease:
            publication = lease.publish(roles=ROLES)
            for one in (first, second, critic):
                assert one.mapped() == []
            rows = [one.admit(publication) for one in (first, second, critic)]
            # The memory that the engine's process wrote, and every piece of it in one place.
            written = Path(f"/proc/{worker._member.attachment.sidecar.pid}/fd").iterdir()
            segments = sorted({fd.stat().st_ino for fd in written if "memfd:outrider:segment" in str(fd.readlink())})
            assert first.mapped() == second.mapped() == critic.mapped() == segments
            lease.commit()
        assert rows[0] == rows[1] == rows[2]


def test_S6_09_a_publication_that_is_not_what_was_published_is_refused(own):
    run = own()
    with engine(run), outrider.Trainer(run) as trainer, run.take(0) as lease:
        publication = lease.publish()

        def cut(message):
            message.shards[0].locators[0].rows -= 1

        def swap(message):
            a, b = message.shards[0].locators
            a.first_row, b.first_row = b.first_row + 1, a.first_row + 1

        def sign(message):
            message.digest = bytes(32)

        for change in (cut, swap, sign):
            changed = pickle.loads(pickle.dumps(publication))
            change(changed.message)
            with pytest.raises(
                outrider.Refused, match=f"publication of admission {lease.admission} was changed on the way"
            ):
                trainer.admit(changed)
        trainer.admit(publication)
        lease.commit()


def test_S5_14_data_lost_before_every_rank_admitted_revokes_the_lease(own):
    run = own(count=4)
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=generate_when_told, args=(run, there))
    process.start()
    with outrider.Trainer(run) as trainer:
        here.recv()
        assert run.stats().workers  # This process has joined.
        with no_more_descriptors(trainer):  # Nothing can be kept here for the worker.
            here.send("go")
            lease = run.take(0)
            publication = lease.publish()
            process.kill()
            process.join()
            while run.stats().workers:
                pass
        with pytest.raises(outrider.Refused, match="take the rollout again"):
            trainer.admit(publication)
        lost = r"data of group 0 was lost with worker .* on host .*; take the rollout again"
        with pytest.raises(outrider.Refused, match=lost):
            lease.commit()
        process = SPAWN.Process(target=generate, args=(run,))
        process.start()
        assert [(g.group, g.attempt) for g in run.take(0).groups] == [(0, 2), (1, 2)]
        while not run.stats().kept:
            pass  # A sidecar that was out of descriptors is reached again.
        process.kill()
        process.join()


async def test_L_11_several_ranks_awaited(own):
    run = own(count=4)
    with engine(run):
        actors = [outrider.Trainer(run, role="actor", rank=rank, world_size=2) for rank in range(2)]
        async with await run.take_async(0) as lease:
            publication = await lease.publish_async(shards=2, roles={"actor": 2})
            batches = [await actor.admit_async(publication) for actor in actors]
            await lease.commit_async()
        assert [[g.group for g in batch.groups()] for batch in batches] == [[0], [1]]
        for actor in actors:
            await actor.close_async()
