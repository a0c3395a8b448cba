"""A queue of work that several takers wait on."""

import pytest

from outrider._inbox import Inbox
from outrider.errors import Closed


def test_a_taker_that_gives_up_leaves_its_turn_to_the_next():
    inbox = Inbox()
    first, second = inbox.take(2), inbox.take(2)
    turns = [next(first).future, next(second).future]
    inbox.put(["work"])
    assert [turn.done() for turn in turns] == [True, False]
    with pytest.raises(KeyboardInterrupt):
        first.throw(KeyboardInterrupt())
    assert turns[1].done()
    with pytest.raises(StopIteration) as taken:
        second.send(None)
    assert taken.value.value == ["work"]


def test_an_end_is_told_to_who_waits_and_voids_what_is_queued():
    inbox = Inbox()
    waiting = inbox.take(1)
    turn = next(waiting).future
    inbox.end(Closed("over"))
    inbox.put(["late"])
    assert turn.done()
    for taker in (waiting, inbox.take(1)):
        with pytest.raises(Closed, match="over"):
            taker.send(None)
