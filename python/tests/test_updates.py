"""Updates of weights, holds and evaluations in one process: the real sidecar, no Ray."""

import asyncio
import concurrent.futures
import threading

import pytest
from test_life import engine, sample

import outrider


def test_S8_01_an_update_is_confirmed_recorded_and_reopens(own):
    run = own(policy=outrider.Policy(max_staleness=0))
    with engine(run) as worker, outrider.Trainer(run) as trainer:
        trainer.next(0)
        threads = []

        def send(version, members):
            threads.append(threading.get_ident())
            assert [engine.actor for engine in members] == [None]
            worker.confirm(version, digest="d1")

        report = run.update_weights(1, send)
        assert threads == [threading.get_ident()]
        assert (report.version, len(report.confirmed), len(report.unconfirmed), report.errors) == (1, 1, 0, ())
        assert [(engine.confirmed_version, engine.digest) for engine in report.confirmed] == [(1, "d1")]
        assert run.stats().announced_version == 1
        with pytest.raises(outrider.Refused, match="1"):
            run.update_weights(1, send)
        batch = trainer.next(1)
        assert batch.rollout == 1
        run.close()


def test_S8_01_the_version_after_the_last_group_needs_no_engine(own):
    run = own(count=2, epochs=1)
    with outrider.Worker(run, slots=4) as worker, outrider.Trainer(run) as trainer:
        for work in worker.groups():
            work.complete([outrider.Sample([1, 2], 1)] * 2)
            if work.group == 1:
                break
        trainer.next(0)
        while run.stats().workers:
            pass  # it has been told that nothing is left
        report = run.update_weights(1, pytest.fail, restore=pytest.fail)
        assert (report.version, len(report.confirmed), report.errors) == (1, 0, ())
        assert run.stats().announced_version == 1
        assert run.state(0)
        with pytest.raises(outrider.EndOfRun):
            trainer.next(1)


def test_S8_16_a_failed_update_takes_weights_and_ledger_back(own):
    run = own()
    with engine(run) as worker, outrider.Trainer(run) as trainer:
        trainer.next(0)
        run.update_weights(1, lambda version, members: worker.confirm(version))
        trainer.next(1)
        done = []

        def send(version, members):
            done.append(("send", version))
            if version == 2:
                raise ConnectionError("half-way")
            worker.confirm(version)

        def restore(version):
            done.append(("restore", version))
            trainer.restored(0)

        with pytest.raises(outrider.UpdateFailed, match="half-way"):
            run.update_weights(2, send, restore=restore, resend=0)
        assert done == [("send", 2), ("restore", 1), ("send", 1)]
        stats = run.stats()
        assert (stats.announced_version, stats.next_rollout, stats.rewinds) == (1, 1, 1)
        trainer.next(1)
        run.close()


def test_S8_04_an_engine_that_joins_late_gets_work_after_a_rebroadcast(own):
    run = own()
    with engine(run) as first:
        run.update_weights(1, lambda version, members: first.confirm(version))
        with outrider.Worker(run, name="late") as late:
            assert run.stats().unconfirmed == 1
            with pytest.raises(
                outrider.Refused, match=r"confirms version 7, and version 1 is the newest that was .* sent"
            ):
                late.confirm(7)
            sent = []

            def send(version, members):
                sent.append((version, [engine.name for engine in members]))
                late.confirm(version)

            report = run.rebroadcast(send)
            assert sent == [(1, ["late"])]
            assert "late" in [engine.name for engine in report.confirmed]
            assert run.stats().unconfirmed == 0
            run.rebroadcast(send)
            assert len(sent) == 1


def test_S8_04_a_rebroadcast_waits_for_the_first_engine(own):
    run = own()
    with engine(run) as first, outrider.Trainer(run) as trainer:
        trainer.next(0)
        run.update_weights(1, lambda version, members: first.confirm(version))
        state = run.state(0)
    again = own("again", state=state, policy=outrider.Policy(join_timeout=120))
    with outrider.Trainer(again, state_at=0, state=state), concurrent.futures.ThreadPoolExecutor(1) as driver:
        came = threading.Event()
        sent = []

        def send(version, members):
            assert came.wait()
            sent.append((version, [member.name for member in members]))
            late.confirm(version)

        report = driver.submit(again.rebroadcast, send)
        while not again.stats().waits_for.startswith("a rebroadcast of version 1 waits for an engine"):
            assert not report.done()
        with outrider.Worker(again, name="late") as late:
            came.set()
            assert [member.name for member in report.result().confirmed] == ["late"]
        assert sent == [(1, ["late"])]


def test_S7_01_a_hold_keeps_work_out_while_its_block_runs(own):
    run = own()
    with engine(run):
        with run.hold("evaluation"):
            assert run.stats().holds == 1
            with pytest.raises(TimeoutError):
                run.take(0, timeout=0.05)
        assert run.stats().holds == 0
        with run.take(0) as lease:
            lease.rollback("seen")


def test_S7_03_two_holds_of_one_process_are_two_for_one_reason_too(own):
    run = own()
    first, second = run.hold("evaluation"), run.hold("evaluation")
    with second:
        with first:
            assert run.stats().holds == 2
        assert run.stats().holds == 1
    assert run.stats().holds == 0


def test_S7_13_an_evaluation_and_an_update_wait_for_each_other(own):
    run = own()
    seen = []
    with engine(run), outrider.Engine(run, "served") as served, concurrent.futures.ThreadPoolExecutor(2) as pool:

        def send(version, members):
            seen.append(run.stats().holds)
            served.confirm(version)
            evaluating.append(pool.submit(run.hold("the next").__enter__))
            while run.stats().holds < 2:
                pass
            assert not evaluating[0].done()

        evaluating = []
        with run.hold("evaluation"):
            updating = pool.submit(run.update_weights, 1, send, mode="in_flight", resend=0)
            while run.stats().holds < 2:
                pass
            assert not updating.done()
            assert not seen
            with pytest.raises(outrider.Conflict, match="inside of hold 'evaluation': end that block first"):
                run.update_weights(2, send)
            with pytest.raises(outrider.Conflict, match="a rebroadcast waits"):
                run.rebroadcast(send)
        assert updating.result().version == 1
        assert seen == [1]
        evaluating[0].result()
        assert run.stats().announced_version == 1


async def test_S7_14_what_ends_before_weights_are_sent_leaves_no_hold(own):
    run = own()
    with pytest.raises(ZeroDivisionError):
        async with run.hold("evaluation"):
            raise ZeroDivisionError
    assert (await run.stats_async()).holds == 0
    with outrider.Trainer(run), outrider.Worker(run, slots=2) as worker:
        works = worker.groups()
        first = next(works)
        for waiting in (
            run.update_weights_async(1, lambda version, members: None),
            run.hold("evaluation").__aenter__(),
        ):
            task = asyncio.ensure_future(waiting)
            while not (await run.stats_async()).holds:
                pass
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while (await run.stats_async()).holds:
                pass
        first.complete([sample(first.prompt(slot)) for slot in range(2)])
        assert next(works).version == 0  # It goes on with the weights that it has.
        assert (await run.stats_async()).announced_version == 0


def test_S7_15_a_failed_update_holds_the_run_until_it_is_mended(own):
    run = own()

    def fails(version, members):
        raise ConnectionError(f"rank {len(members)} is gone")

    with outrider.Trainer(run), outrider.Worker(run) as worker:
        for mend in (lambda: run.rebroadcast(lambda version, members: worker.confirm(version)), lambda: run.rewind(-1)):
            with pytest.raises(outrider.UpdateFailed, match="the run is held") as caught:
                run.update_weights(1, fails, mode="in_flight", resend=1)
            assert [str(cause) for cause in caught.value.causes] == ["rank 1 is gone"] * 2
            stats = run.stats()
            assert stats.holds == 1
            assert (
                stats.waits_for
                == "no engine of 1 has confirmed version 1; the run stays held: send it again, rebroadcast, rewind or close"
            )
            with pytest.raises(outrider.UpdateFailed, match="no engine of 1 has confirmed version 1"):
                run.hold("evaluation").__enter__()
            mend()
            assert run.stats().holds == 0
        with pytest.raises(outrider.UpdateFailed):
            run.update_weights(2, fails, mode="in_flight")
    assert run.close().announced_version == 0


def test_S8_05_an_engine_with_other_weights_than_the_trainers_has_not_loaded(own):
    run = own()
    with engine(run) as right, outrider.Engine(run, "other") as wrong:

        def send(version, members):
            for one in members:
                if one.name == "other":
                    with pytest.raises(outrider.Refused, match='digest "w1", the trainer\'s is "d1"; load it again'):
                        wrong.confirm(version, digest="w1")
                else:
                    right.confirm(version, digest="d1")

        report = run.update_weights(1, send, digest="d1")
        (good,), (bad,) = report.confirmed, report.unconfirmed
        assert (good.confirmed_version, good.digest) == (1, "d1")
        assert (bad.name, bad.confirmed_version, bad.digest) == ("other", 0, "")
        with pytest.raises(outrider.Refused, match="load it again"):
            wrong.confirm(1, digest="w1")
        report = run.rebroadcast(lambda version, members: wrong.confirm(version, digest="d1"))
        assert not report.unconfirmed
        with pytest.raises(outrider.ConfigError, match="digest=b'd2' is no text"):
            run.update_weights(2, send, digest=b"d2")


def test_S8_05_without_a_digest_of_the_trainer_engines_have_to_agree(own):
    run = own()
    with engine(run) as one, outrider.Engine(run, "other") as other:

        def disagree(version, members):
            one.confirm(version, digest="a")
            other.confirm(version, digest="b")

        with pytest.raises(outrider.UpdateFailed, match="no engine confirmed"):
            run.update_weights(1, disagree)

        def agree(version, members):
            one.confirm(version, digest="c")
            other.confirm(version, digest="c")

        assert len(run.update_weights(2, agree).confirmed) == 2
        with pytest.raises(outrider.Refused, match="load it again"):
            other.confirm(2, digest="d")


def test_S8_14_the_lag_of_engines_and_the_staleness_of_data_are_two_metrics(own):
    run = own()
    with engine(run) as ahead, outrider.Engine(run, "behind"), outrider.Trainer(run) as trainer:
        trainer.next(0)
        for version in (1, 2):
            run.update_weights(version, lambda version, members: ahead.confirm(version), resend=0)
        lines = run.metrics().splitlines()
        lag = {
            line.split('role="')[1].split('"')[0]: line.split()[-1] for line in lines if "engine_lag_versions{" in line
        }
        assert lag == {"worker": "0", "engine": "2"}
        assert [line.split()[-1] for line in lines if line.startswith("outrider_staleness_max{")] == ["0"]


def test_S8_16_weights_that_are_not_those_of_the_rollout_are_refused(own):
    run = own()
    with engine(run) as worker, outrider.Trainer(run) as trainer:
        for rollout in range(2):
            trainer.next(rollout)
            run.update_weights(rollout + 1, lambda version, members: worker.confirm(version), digest=f"d{rollout}")
        with pytest.raises(
            outrider.Refused, match=r'rollout 0 have digest "d1", those of version 1.* have "d0"; load these'
        ):
            trainer.restored(0, digest="d1")
        run.rewind(0)
        with pytest.raises(outrider.Refused, match="load these"):
            trainer.restored(0, digest="d1")
        with pytest.raises(outrider.Refused, match="has not said so"):
            trainer.next(1)
        trainer.restored(0, digest="d0")
        run.rebroadcast(lambda version, members: worker.confirm(version, digest="d0"))
        trainer.next(1)
