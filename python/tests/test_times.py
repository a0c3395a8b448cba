"""Deadlines, cancels and lost work through the shim: the real sidecar, no Ray."""

import asyncio

import pytest
from test_life import sample

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
        assert await run.cancel_async([1, 0, 7], reason="too long") >= 1
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


@pytest.mark.parametrize("name", ["execution_deadline", "cancel_grace"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "5s"])
def test_S2_10_times_that_cannot_work_are_refused_by_name(name, value):
    with pytest.raises(outrider.ConfigError, match=f"policy.{name}"):
        outrider.Policy(**{name: value})
