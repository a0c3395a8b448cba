"""Event loops: whatever waits has a form that is awaited."""

import asyncio

import outrider


def test_L_11_members_and_holds_are_async_context_managers(own):
    run = own()

    async def job():
        async with run.hold("evaluation"), outrider.Worker(run) as worker, outrider.Trainer(run) as trainer:
            assert await run.next_rollout_async() == 0
            assert "1 workers" in await run.progress_async()
            assert (await run.stats_async()).holds == 1
            assert worker.group_size == 2
            assert trainer.rank == 0
        await run.detach_async()
        await run.detach_async()

    asyncio.run(job())
    assert run.stats().holds == 0
