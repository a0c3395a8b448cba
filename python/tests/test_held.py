"""Who holds memory of rollouts, and for how long."""

import dataclasses
import os
import re

from test_budget import until
from test_life import engine

import outrider


def rank(stats):
    return next(member for member in stats.members if member.role == "trainer")


def test_S11_15_who_keeps_a_view_is_named_until_it_is_gone(own, caplog):
    run = own(count=8, policy=outrider.Policy(held_warning=0.05))
    with engine(run), outrider.Trainer(run) as trainer:
        batch = trainer.next(0)
        kept = next(batch.groups()).tokens[1:]
        del batch
        stats = until(run, lambda stats: stats.held_by)
        member = rank(stats)
        assert member.pid == os.getpid()
        assert 0 < member.held_bytes <= member.mapped_bytes
        assert member.held_segments >= 1
        assert member.held_seconds >= 0.05
        words = rf"held by actor \S+ pid {os.getpid()} for \d+ s, \d+ segments, \S+ MB"
        assert re.fullmatch(words, stats.held_by[0])
        assert stats.held_by[0] in stats.line()
        much = dataclasses.replace(member, held_bytes=1_234_000_000)
        assert much.held.endswith(" 1234 MB")
        assert f'pid="{os.getpid()}"' in next(
            line for line in run.metrics().splitlines() if line.startswith("outrider_held_bytes{")
        )
        trainer.next(1)  # The run does not wait for who holds something.
        del kept
        stats = until(run, lambda stats: rank(stats).mapped_bytes == 0)
        assert stats.held_by == ()
        assert "held by" not in stats.line()
        assert "outrider_held_bytes{" not in run.metrics()
        assert len(re.findall(words, caplog.text)) == 1


def test_S11_15_without_a_limit_nothing_counts_as_held(own):
    run = own(count=8, policy=outrider.Policy(held_warning=None))
    with engine(run), outrider.Trainer(run) as trainer:
        batch = trainer.next(0)
        stats = until(run, lambda stats: rank(stats).mapped_bytes > 0)
        assert stats.held_by == ()
        assert batch.num_rows == 4
