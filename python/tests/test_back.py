"""Going back, saving, and ranks that are missing or disagree, through the shim."""

import contextlib

import pytest
from test_life import engine

import outrider


def train(run, trainers, rollout):
    """One rollout by every rank."""
    lease = run.take(rollout)
    publication = lease.publish(roles={"trainer": len(trainers)})
    groups = [[g.group for g in trainer.admit(publication).groups()] for trainer in trainers]
    lease.commit()
    assert all(other == groups[0] for other in groups)
    return groups[0]


def test_S12_05_ranks_that_say_different_rollouts_are_refused_each_by_name(own):
    run = own()
    with engine(run):
        ranks = [outrider.Trainer(run, rank=rank, world_size=2) for rank in range(2)]
        first = train(run, ranks, 0)
        for rank in ranks:
            rank.close()
        kept = outrider.Trainer(run, rank=0, world_size=2, state_at=0)
        with pytest.raises(outrider.Conflict) as caught:
            outrider.Trainer(run, rank=1, world_size=2, state_at=-1)
        for word in ("trainer[0] has weights of rollout 0", "trainer[1] of rollout -1", "load the same checkpoint"):
            assert word in str(caught.value)
        assert run.next_rollout == 1
        with outrider.Trainer(run, rank=1, world_size=2, state_at=0) as late, kept:
            assert not set(train(run, [kept, late], 1)) & set(first)


def test_S12_08_S7_09_nothing_goes_back_below_what_was_saved(own):
    run = own()
    with engine(run), outrider.Trainer(run) as trainer:
        for rollout in range(3):
            trainer.next(rollout)
        with pytest.raises(outrider.Refused, match=r"saved\(1\): no state of that rollout was given"):
            run.saved(1)
        state = run.state(1)
        run.saved(1)
        with pytest.raises(outrider.ConfigError, match=r"saved\(1\) let go of what came before"):
            run.rewind(0)
        with pytest.raises(outrider.ConfigError, match=r"saved\(1\) let go of what came before"):
            run.state(0)
        assert run.state(1) == state
        assert run.next_rollout == 3
        assert run.rewind(1).groups == 2


def test_S7_07_a_state_is_refused_while_an_earlier_lease_is_open(own):
    run = own()
    with engine(run), outrider.Trainer(run) as trainer:
        trainer.next(0)
        with run.take(1) as lease:
            with pytest.raises(outrider.Refused, match=f"rollout 1 is open .*{lease.admission}"):
                run.state(1)
            assert run.state(0)
            lease.rollback("seen")


def test_S7_12_state_bytes_that_cannot_be_used_do_not_start_a_run(own):
    run = own("whole")
    run.close()
    state = run.final_state
    damaged = bytearray(state)
    damaged[len(state) // 2] ^= 1
    for bad in (bytes(damaged), state[:-1], state + b"x"):
        with pytest.raises(outrider.ConfigError, match="checksum"):
            own("again", state=bad)
    assert own("again", state=state).next_rollout == 0


def test_S12_14_a_take_waits_for_a_missing_rank_and_says_so(own):
    run = own()
    with engine(run), outrider.Trainer(run, rank=0, world_size=2) as first:
        lack = r"trainer\[1\] not attached"
        with pytest.raises(TimeoutError, match=lack):
            run.take(0, timeout=0.2)
        with outrider.Trainer(run, rank=1, world_size=2) as second:
            train(run, [first, second], 0)
    # Both have left of their own will: nobody waits for them.
    while run.stats().trainers:
        pass
    with engine(run), outrider.Trainer(run, state_at=0) as alone:
        alone.next(1)


def test_S12_14_a_take_says_that_no_engine_has_the_weights(own):
    run = own()
    with outrider.Trainer(run) as trainer, engine(run) as worker:
        trainer.next(0)
        run.update_weights(1, lambda version, members: worker.confirm(version))
        state = run.state(0)
        run.close(force=True)
    run = own(state=state)
    with outrider.Trainer(run, state_at=0, state=state), engine(run) as worker:
        with pytest.raises(TimeoutError, match="none of 1 engines has confirmed version 1: send it to them"):
            run.take(1, timeout=0.2)
        assert run.stats().waits_for == ""  # nobody waits any more
        run.rebroadcast(lambda version, members: worker.confirm(version))
        run.take(1).rollback("seen")


def test_S8_16_a_rank_trains_nothing_before_it_says_that_its_weights_went_back(own):
    run = own()
    with engine(run), outrider.Trainer(run) as trainer:
        for rollout in range(3):
            trainer.next(rollout)
        run.rewind(0)
        with pytest.raises(
            outrider.Refused, match=r"went back to rollout 0, and trainer\[0\] has not said so .*restored\(0\)"
        ):
            trainer.next(1)
        with run.take(1) as lease:
            with pytest.raises(outrider.Refused, match=r"call its Trainer.restored\(0\)"):
                trainer.admit(lease.publish())
            lease.rollback("seen")
        with pytest.raises(outrider.Refused, match="weights are of rollout 2, the run is at 0"):
            trainer.restored(2)
        trainer.restored(0)
        trainer.next(1)
        # The weights first, then the run.
        trainer.restored(0)
        with pytest.raises(
            outrider.Refused, match="has gone back to rollout 0 and the run is at 1; rewind the run to 0"
        ):
            trainer.next(2)
        run.rewind(0)
        trainer.next(1)
        with pytest.raises(outrider.ConfigError, match="rollout"):
            trainer.restored(-2)


def test_S12_04_the_checkpoint_of_a_rollout_that_was_undone_is_refused(own):
    run = own()
    with engine(run):
        with outrider.Trainer(run) as trainer:
            trainer.next(0)
            trainer.next(1)
            undone = run.state(1)
            trainer.restored(0)
            run.rewind(0)
            for rollout in (1, 2):
                trainer.next(rollout)
            state = run.state(1)
        with pytest.raises(outrider.ConfigError, match=r"the state is of rollout 1 in timeline 1@.* which was undone"):
            outrider.Trainer(run, state_at=1, state=undone)
        assert run.next_rollout == 3
        with outrider.Trainer(run, state_at=1, state=state) as trainer:
            trainer.next(2)


def test_S12_02_a_rewind_replays_what_came_after(own):
    run = own(count=8, epochs=1)
    with engine(run), outrider.Trainer(run) as trainer:
        first = [g.group for g in trainer.next(0).groups()]
        second = [g.group for g in trainer.next(1).groups()]
        rewound = run.rewind(0)
        assert (rewound.rollout, rewound.groups) == (0, 2)
        trainer.restored(0)
        again = []
        with contextlib.suppress(outrider.EndOfRun):
            for rollout in range(1, 5):
                again += [g.group for g in trainer.next(rollout).groups()]
        assert set(second) <= set(again)
        assert sorted(first + again) == list(range(8))


def test_S12_02_who_asks_for_a_rollout_that_was_left_behind_is_told(own):
    run = own(count=12, epochs=1)
    with engine(run), outrider.Trainer(run) as trainer:
        for rollout in range(4):
            trainer.next(rollout)
        run.rewind(1)
        trainer.restored(1)
        for ask in (trainer.next, run.take):
            with pytest.raises(
                outrider.Refused, match="rollout 4 does not come next: the run went back to rollout 1, take 2"
            ):
                ask(4)
        assert trainer.next(2).rollout == 2


def test_S7_10_a_run_goes_on_from_its_state(own):
    run = own(count=6, epochs=1)
    with engine(run), outrider.Trainer(run) as trainer:
        first = [g.group for g in trainer.next(0).groups()]
        state = run.state(0)
        trainer.next(1)
        run.close()
    assert run.final_state
    run = own(count=6, epochs=1, state=state)
    assert run.next_rollout == 1
    rest = []
    with engine(run), outrider.Trainer(run, state_at=0, state=state) as trainer:
        for rollout in (1, 2):
            rest += [g.group for g in trainer.next(rollout).groups()]
    assert sorted(first + rest) == list(range(6))


def test_S7_11_a_state_of_another_source_is_refused(own):
    run = own(count=6)
    state = run.close() and run.final_state
    with pytest.raises(outrider.ConfigError):
        own(count=5, state=state)
    with pytest.raises(outrider.ConfigError):
        own(count=6, state=state[:-3])


def test_S12_04_weights_of_another_run_are_refused(own):
    run = own()
    with pytest.raises(outrider.Error, match="7"):
        outrider.Trainer(run, state_at=7)
