"""Deadlines, cancels and lost work through the shim: the real sidecar, no Ray."""

import ast
import asyncio
import ctypes
import multiprocessing
import os
import threading
from pathlib import Path

import pytest
from test_budget import until
from test_life import engine, sample

import outrider


def complete(work):
    return work.complete([sample(work.prompt(slot)) for slot in range(work.worker.group_size)])


async def test_S2_09_a_cancelled_group_goes_elsewhere_when_its_calls_have_ended(own):
    run = own(count=2, epochs=1)
    hangs, seen = asyncio.Event(), []

    async def generate(prompt):
        seen.append((prompt.group, prompt.attempt, prompt.slot))
        if prompt.group == 1 and prompt.attempt == 1:
            hangs.set()
            await asyncio.Event().wait()
        return sample(prompt)

    with outrider.Worker(run, slots=8) as worker, outrider.Trainer(run) as trainer:
        serving = asyncio.create_task(worker.serve(generate))
        await hangs.wait()
        while (await run.stats_async()).completed.used < 1:
            pass  # Group 0 ends by itself.
        assert await run.cancel_async([1, 0, 7], reason="too long") == 1
        batch = await trainer.next_async(0)
        assert sorted((g.group, g.attempt) for g in batch.groups()) == [(0, 1), (1, 2)]
        stats = await run.close_async()
        await serving
    assert stats.books.closed
    assert stats.interrupted == 0
    with pytest.raises(outrider.ConfigError, match="group"):
        run.cancel([-1])


def test_S2_10_work_that_hangs_past_its_deadline_is_void_and_goes_elsewhere(own, caplog):
    run = own(
        count=1,
        batch_groups=1,
        epochs=1,
        policy=outrider.Policy(execution_deadline=1.0, cancel_grace=0.05),
        limits=outrider.Limits(executing=2),
    )
    with outrider.Worker(run, slots=8) as worker, outrider.Trainer(run) as trainer:
        works = iter(worker.groups())
        hung = next(works)
        again = next(works)  # Comes by the owner's clock: nobody has ended the first.
        assert (again.group, again.attempt) == (hung.group, 2)
        assert hung.cancelled
        stats = run.stats()
        assert stats.interrupted >= 1
        assert stats.stuck >= 2
        assert sum(member.stuck for member in stats.members) == stats.stuck
        assert not complete(hung)  # Too late: it is not trained beside its group's next execution.
        while not complete(again):
            again = next(works)
        assert [(g.group, g.attempt) for g in trainer.next(0).groups()] == [(0, again.attempt)]
    assert run.close().books.closed
    assert "past its deadline" in caplog.text


@pytest.mark.parametrize(
    "name",
    [
        "execution_deadline",
        "cancel_grace",
        "orphan_ttl",
        "start_deadline",
        "join_timeout",
        "stall_warning",
        "held_warning",
    ],
)
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "5s"])
def test_S2_10_times_that_cannot_work_are_refused_by_name(name, value):
    with pytest.raises(outrider.ConfigError, match=f"policy.{name}"):
        outrider.Policy(**{name: value})


def test_S3_17_a_take_fails_when_nobody_is_there_to_fill_it(own):
    run = own(count=4, batch_groups=2, policy=outrider.Policy(join_timeout=0.05))
    with outrider.Trainer(run) as trainer:
        with outrider.Worker(run, slots=2) as worker:
            work = next(iter(worker.groups()))
            with pytest.raises(outrider.ConfigError, match="slots"):
                worker.slots = 3
            worker.slots = 0  # No other group comes in its place.
            assert complete(work)
            worker.drain()
            with pytest.raises(outrider.NoWorkers, match="rollout 0 has 1 of 2 groups; no worker alive since"):
                trainer.next(0)
        assert issubclass(outrider.NoWorkers, outrider.Refused)


def test_S2_17_a_worker_that_never_asks_is_named_and_not_waited_for(own, caplog):
    run = own(count=4, policy=outrider.Policy(start_deadline=0.05, join_timeout=0.05))
    with outrider.Worker(run, slots=2, name="idler") as worker, outrider.Trainer(run) as trainer:
        with pytest.raises(outrider.NoWorkers, match="of 1 attached workers none can work"):
            trainer.next(0)
        assert "idler" in caplog.text
        assert "asks for no work" in caplog.text
        for work in worker.groups():  # It asks after all, and counts again.
            assert complete(work)
            if work.group == 1:
                break
        assert [g.group for g in trainer.next(0).groups()] == [0, 1]


def test_S3_14_a_run_that_stands_still_says_so_with_its_oldest_execution(own, caplog):
    policy = outrider.Policy(stall_warning=0.05, execution_deadline=0.5, cancel_grace=0.05, join_timeout=0.05)
    run = own(count=4, policy=policy)
    with outrider.Worker(run, slots=2, name="slowpoke") as worker, outrider.Trainer(run) as trainer:
        next(iter(worker.groups()))  # Never ended: stuck by its deadline, and then nobody is there.
        with pytest.raises(outrider.NoWorkers):
            trainer.next(0)
    assert "no group has been completed" in caplog.text
    assert "slowpoke" in caplog.text


def test_S8_17_a_colocated_engine_gives_its_slots_away_and_takes_them_back(own):
    run = own(count=8, batch_groups=1)
    with outrider.Worker(run, slots=2) as worker, outrider.Trainer(run) as trainer:
        works = iter(worker.groups())
        first = next(works)
        worker.slots = 0
        assert complete(first)
        assert [g.group for g in trainer.next(0).groups()] == [0]
        stats = run.stats()
        assert (stats.workers, stats.executing.used) == (1, 0)
        assert {member.slots for member in stats.members if member.role == "worker"} == {0}
        worker.slots = 2
        assert worker.slots == 2
        assert next(works).group == 1
        assert run.stats().requeued == 0


def test_S3_13_a_function_that_blocks_keeps_nobody_else_from_work(own):
    run = own(count=6, batch_groups=2)
    entered, leave = threading.Event(), threading.Event()

    def block(prompt):
        entered.set()
        leave.wait()
        return sample(prompt)

    with outrider.Worker(run, slots=2) as blocked, outrider.Trainer(run) as trainer:
        serving = threading.Thread(target=blocked.serve_blocking, args=(block,))
        serving.start()
        entered.wait()
        with engine(run, slots=2):
            for rollout in range(2):
                assert 0 not in [g.group for g in trainer.next(rollout).groups()]
            leave.set()
            run.close(force=True)
        serving.join()


def own_stream():
    policy = outrider.Policy(execution_deadline=1.0, cancel_grace=0.05)
    return outrider.own("test", source=outrider.stream(), group_size=2, batch_groups=2, policy=policy)


def hold_the_gil(run, pipe):
    """Ends one group, then keeps its whole process from Python until a byte comes; ends whatever it gets from then on."""
    run = run or own_stream()
    with outrider.Worker(run, slots=2) as worker:
        works = worker.groups()
        run.push("0", {"question": "0"})
        assert complete(next(works))
        pipe.send((run, pipe.fileno()))
        ctypes.PyDLL(None).read(pipe.fileno(), ctypes.create_string_buffer(1), 1)
        pipe.send([(work.group, complete(work)) for work in works])


@pytest.mark.parametrize("owns", [False, True], ids=["engine", "engine_and_owner"])
def test_S2_15_a_process_that_holds_the_gil_is_not_lost_and_its_sidecar_goes_on(owns):
    own_run = None if owns else own_stream()
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    child = spawn.Process(target=hold_the_gil, args=(own_run, there))
    child.start()
    with here:
        run, fd = here.recv()
        while Path(f"/proc/{child.pid}/syscall").read_text().split()[1:2] != [hex(fd)]:
            pass  # On its way into the read.
        with outrider.Trainer(run) as trainer:  # Who comes is taken in.
            (held,) = (member for member in run.stats().members if member.role == "worker")
            assert held.pid == child.pid
            # Work goes to it, and when its deadline has passed elsewhere; its data is read, and kept by who can.
            assert run.push("1", {"question": "1"})
            until(run, lambda stats: (stats.executing.used, stats.kept) == (2, 1))
            with engine(run, slots=2) as other:
                (first, attempt), (second, later) = ((g.group, g.attempt) for g in trainer.next(0).groups())
                assert (first, attempt, second) == (0, 1, 1)
                assert later > 1
                # Nobody is lost, and whoever asks is answered.
                stats = run.stats()
                assert stats.workers == 2
                assert (held.session, 2) in [(member.session, member.stuck) for member in stats.members]
                assert f'outrider_stuck_samples{{run="{run.name}"}} 2' in run.metrics().splitlines()
                other.slots = 0
                os.write(here.fileno(), b"x")
                # It is told that its group is with somebody else, and works on.
                for name in ("2", "3"):
                    assert run.push(name, {"question": name})
                assert {g.group for g in trainer.next(1).groups()} == {2, 3}
                assert run.close().books.acknowledged.groups == 4
        ends = here.recv()
        assert ends[0] == (1, False)
        assert {group for group, counts in ends if counts} == {2, 3}
    child.join()
    assert child.exitcode == 0


def test_S10_08_nothing_here_reads_the_wall_clock():
    for path in Path(outrider.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                names = {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                names = {alias.name for alias in node.names} - {"time"}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                names = {f"{node.value.id}.{node.attr}"}
            else:
                continue
            clocks = {name for name in names if name.split(".")[0] in ("time", "datetime")}
            assert clocks <= {"time.monotonic", "time.sleep"}, f"{path.name}:{node.lineno}"
