"""Columns that a rank adds to the rows that it has admitted, for the other ranks of the lease."""

import contextlib

import numpy as np
import pyarrow as pa
import pytest
from test_life import engine

import outrider

VALUES = {"values": pa.field("values", pa.list_(pa.float32()), metadata={b"outrider.domain": b"response"})}


def rollout(prompt):
    return outrider.Sample(np.arange(prompt.slot + 2), prompt.slot + 1, logprobs=np.zeros(prompt.slot + 1), reward=1.0)


@pytest.fixture
def leased(own):
    """A lease of four groups in two shards, admitted by two actors, each a shard, and a critic, who reads them the other way round."""
    with contextlib.ExitStack() as stack:
        run = own(batch_groups=4)
        ranks = [outrider.Trainer(run, role="actor", rank=rank, world_size=2) for rank in range(2)]
        critic = outrider.Trainer(run, role="critic")
        for one in (*ranks, critic):
            stack.enter_context(one)
        stack.enter_context(engine(run, rollout))
        lease = run.take(0)
        publication = lease.publish(shards=2, roles={"actor": 2, "critic": 1})
        batches = [one.admit(publication, shard) for shard, one in enumerate(ranks)]
        yield run, lease, batches, critic.admit(publication, [1, 0])


def rows(batch):
    """(group, slot) of each row."""
    return list(zip(batch.group.tolist(), batch.slot.tolist(), strict=True))


def test_S6_13_a_critics_columns_are_read_by_the_actors_row_by_row(leased):
    run, lease, actors, critic = leased
    score = np.asarray([100 * group + slot for group, slot in rows(critic)], np.float64)
    lists = [np.full(slot + 1, group, np.float32) for group, slot in rows(critic)]
    critic.add(VALUES, values=lists)
    lease.commit()
    critic.add(score=score)  # the step that was committed may still be going on
    for batch in actors:
        batch.join("score", "values")
        assert batch.score.tolist() == [100 * group + slot for group, slot in rows(batch)]
        for g in batch.groups():
            assert g.values.tolist() == [g.group] * 3
            assert np.diff(g.offsets("values")).tolist() == np.diff(g.offsets("logprobs")).tolist()
        assert batch.packed("logprobs", "values").values.size == batch.packed("logprobs").logprobs.size
    assert critic.score.tolist() == score.tolist()
    assert run.stats().books.acknowledged.groups == 4


def test_S6_13_each_actor_adds_to_its_own_rows_and_the_critic_reads_both(leased):
    _, lease, actors, critic = leased
    actors[0].add(advantage=np.asarray(actors[0].group, np.float32))
    with pytest.raises(outrider.Refused, match='no rank has added a column "advantage" to shard 1'):
        critic.join("advantage")
    actors[1].add(advantage=np.asarray(actors[1].group, np.float32))
    critic.join("advantage")
    assert critic.advantage.tolist() == critic.group.tolist()
    lease.commit()


def test_S6_13_wrong_columns_are_refused_and_may_be_given_again(leased):
    _, lease, actors, critic = leased
    for columns, message in [
        ({"values": np.zeros(3)}, "rollout 0: column 'values': expected 8 values, one for each row, found 3"),
        ({"reward": np.zeros(8)}, "column 'reward': expected a name that is not taken"),
        ({"values": pa.array([1.0] * 7 + [None])}, "row 7: expected double, found a null"),
        (
            {"loss_mask": [[1]] * 8},
            "'loss_mask': row 1: expected 2 values, as in column 'logprobs' of the same domain response, found 1",
        ),
        ({"loss_mask": [[1], [0, 2]] * 4}, "'loss_mask': row 1: expected 0 or 1 for each token, found 2"),
    ]:
        with pytest.raises(outrider.DataError, match=message):
            critic.add(**columns)
    with pytest.raises(outrider.ConfigError, match="column 'tokens': a group has it from its generation"):
        critic.add(tokens=np.zeros(8))
    with pytest.raises(outrider.ConfigError, match="column 'values' is of type"):
        critic.add(values=[object()] * 8)
    critic.add(values=np.arange(8.0))
    with pytest.raises(outrider.Conflict, match=r'column "values" of shard 0 .* was added by session'):
        actors[0].add(values=np.zeros(4))
    lease.rollback("the step was given up")
    with pytest.raises(outrider.Stale, match="is ROLLED_BACK"):
        critic.add(returns=np.zeros(8))
    with pytest.raises(outrider.Stale, match="is ROLLED_BACK"):
        actors[0].join("values")


def test_S6_13_columns_of_a_batch_that_nobody_admitted_are_refused():
    with pytest.raises(outrider.Refused, match="was not admitted here"):
        outrider.Batch(0, 0, []).add(values=[])
