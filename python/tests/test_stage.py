"""Stages: columns that come after the generation, from processes of their own."""

import asyncio
import contextlib
import threading

import numpy as np
import pyarrow as pa
import pytest
from test_life import engine

import outrider

REWARD = {"reward": "float64"}


def unjudged(prompt):
    return outrider.Sample(
        np.arange(prompt.slot + 2), prompt.slot + 1, logprobs=np.zeros(prompt.slot + 1), label=prompt["question"]
    )


@contextlib.contextmanager
def serving(stage, function):
    """A stage whose groups are added to by a function, in a thread, until the run ends or the block does."""

    def serve_all():
        for g in stage.groups():
            g.add(**function(g))

    thread = threading.Thread(target=serve_all)
    thread.start()
    try:
        yield stage
    finally:
        stage.close()
        thread.join()


def lengths(g):
    return {"reward": np.diff(g.cu_seqlens).astype(np.float64) + g.group}


def test_S11_18_the_columns_of_two_stages_are_joined_by_row_in_place(own):
    values = pa.field("values", pa.list_(pa.float32()), metadata={b"outrider.domain": b"response"})
    run = own(count=4, epochs=1, stages=[REWARD, {"values": values}])

    def critic(g):
        assert g.reward.tolist() == [2 + g.group, 3 + g.group]  # what the stage before has added
        return {"values": [np.full(n, g.group, np.float32) for n in np.diff(g.offsets("logprobs"))]}

    with (
        outrider.Trainer(run) as trainer,
        engine(run, unjudged),
        serving(outrider.Stage(run, REWARD, slots=2), lengths),
        serving(outrider.Stage(run, {"values": values}), critic),
    ):
        for rollout in range(2):
            with run.take(rollout) as lease:
                assert [g.rewards.tolist() for g in lease.groups] == [[2 + g.group, 3 + g.group] for g in lease.groups]
                # The rows of the batch in another order than they lie: columns go with their rows.
                batch = trainer.admit(lease.publish([[3, 0, 1, 2]]), 0)
                lease.commit()
            first = rollout * 2
            assert batch.reward.tolist() == [4.0 + first, 2 + first, 3 + first, 3 + first]
            assert batch.column("values").to_pylist() == [[1 + first] * 2, [first], [first] * 2, [1 + first]]
            assert batch.column("label").to_pylist()[0] == f"frage {1 + first} \u00e4\u2713"
            assert batch.packed("logprobs", "values").values.tolist() == [1 + first] * 2 + [first] * 3 + [1 + first]
        with pytest.raises(outrider.EndOfRun):
            trainer.next(2)
    run.close().books.check()


async def test_S11_18_a_stage_is_served_awaited_and_its_columns_come_by_next(own):
    run = own(count=2, stages=[REWARD])
    stage, trainer = outrider.Stage(run, REWARD), outrider.Trainer(run)

    async def judge():
        async for g in stage.groups():
            await g.add_async(reward=[float(g.group), -1.0])

    with engine(run, unjudged):
        judging = asyncio.create_task(judge())
        batch = await trainer.next_async(0)
        assert [g.reward.tolist() for g in batch.groups()] == [[0, -1], [1, -1]]
        await stage.close_async()
        await judging
    await trainer.close_async()


def test_S11_18_another_member_of_the_stage_takes_over_and_the_generation_stays(own):
    run = own(count=2, stages=[REWARD])
    with outrider.Trainer(run) as trainer, engine(run, unjudged):
        first = outrider.Stage(run, REWARD)
        held = next(iter(first.groups()))
        first.close()
        assert not held.add(reward=[0.0, 0.0])
        with serving(outrider.Stage(run, REWARD), lengths):
            assert [(g.group, g.attempt) for g in trainer.next(0).groups()] == [(0, 1), (1, 1)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"reward": [1.0]}, "group 0: column 'reward': expected 2 values, one for each row, found 1"),
        ({"reward": [1.0, 2.0], "extra": [1, 2]}, "the columns .* were given, .* are to be added"),
        ({}, r"the columns \[\] were given, \['reward'\] are to be added"),
        ({"reward": [1.0, None]}, "column 'reward': row 1: expected double, found None"),
        ({"reward": [1.0, True]}, "column 'reward': row 1: expected double, found True"),
        ({"reward": np.array(["a", "b"])}, "column 'reward': expected double, found <U1"),
        ({"reward": np.zeros((2, 1))}, r"expected a 1-d array of double, found 2 dimensions \[2, 1\]"),
        ({"reward": pa.array([1.0, None])}, "row 1: expected double, found a null"),
        ({"reward": pa.array([1, 2])}, "expected double, found int64"),
        ({"reward": 1.0}, "expected 2 values, one for each row, found a float"),
    ],
)
def test_S11_18_wrong_columns_are_refused_and_may_be_given_again(own, given, message):
    run = own(count=2, stages=[REWARD])
    with outrider.Trainer(run) as trainer, engine(run, unjudged), outrider.Stage(run, REWARD) as stage:
        groups = iter(stage.groups())
        g = next(groups)
        with pytest.raises(outrider.DataError, match=message):
            g.add(**given)
        assert g.add(reward=[1.0, 2.0])
        assert next(groups).add(reward=pa.array([3.0, 4.0]))
        assert trainer.next(0).reward.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_S11_05_lists_of_a_stage_that_do_not_fit_their_domain_count_as_a_failed_try(own):
    values = {"values": pa.field("values", pa.list_(pa.float32()), metadata={b"outrider.domain": b"response"})}
    run = own(count=4, stages=[values], policy=outrider.Policy(max_attempts=2, max_failed=1.0))
    with engine(run, unjudged), outrider.Stage(run, values) as stage:
        tries = 0
        for g in stage.groups():
            assert g.attempt == 1  # the stage has a second try, the generation stays
            if g.group:
                assert g.add(values=[[0.5], [1, 2]])
                continue
            with pytest.raises(
                outrider.DataError,
                match='row 1, column "values": expected 2 values, as in column "logprobs" of the same domain response, found 3',
            ):
                g.add(values=[[0.5], [1, 2, 3]])
            tries += 1
            if tries == 2:
                break
        assert run.stats().books.failed.groups == 1


def test_S11_18_a_stage_adds_no_name_that_the_rows_have(own):
    run = own(count=2, stages=[{"label": "text"}], policy=outrider.Policy(max_failed=1.0))
    with (
        engine(run, unjudged),
        outrider.Stage(run, {"label": "text"}) as stage,
        pytest.raises(outrider.DataError, match='column "label": expected a name that is not taken'),
    ):
        next(iter(stage.groups())).add(label=["a", "b"])


def test_what_a_stage_cannot_be_is_refused(own):
    with pytest.raises(outrider.ConfigError, match="there twice"):
        own(stages=[REWARD, REWARD])
    with pytest.raises(outrider.ConfigError, match="leave them out with ownership=none"):
        own(stages=[REWARD], ownership="none")
    with pytest.raises(outrider.ConfigError, match="column 'tokens': a group has it from its generation"):
        own(stages=[{"tokens": pa.list_(pa.int32())}])
    with pytest.raises(outrider.ConfigError, match="column 'reward' is float; it has to be double"):
        own(stages=[{"reward": "float32"}])
    with pytest.raises(outrider.ConfigError, match="column 'x' is of type 'nonsense'"):
        own(stages=[{"x": "nonsense"}])
    with pytest.raises(outrider.ConfigError, match="names no columns"):
        own(stages=[{}])
    with pytest.raises(outrider.ConfigError, match="give a list with the columns of each stage"):
        own(stages=REWARD)
    run = own(stages=[REWARD])
    with pytest.raises(outrider.ConfigError, match='is to serve stage "score: double", the run has the stages'):
        outrider.Stage(run, {"score": "float64"})
