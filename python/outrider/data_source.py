"""Prompts from a framework's own data source."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from outrider import _wire_pb2 as wire
from outrider._check import Problems, shown
from outrider.stream import unread_table

PLACE = ("epoch_id", "sample_offset", "sample_group_index", "sample_index", "metadata")
"""The attributes by which the data sources of slime and its kin say where they are."""


class Samples(Protocol):
    """What a framework's data source does for its rollouts, as those of slime and its kin do. One thread of the owner's calls it."""

    def get_samples(self, num_samples: int) -> list[list[Any]]:
        """Gives that many groups, each of `group_size` samples; none when there is no more. What came back goes out first."""

    def add_samples(self, samples: list[list[Any]]) -> None:
        """Takes groups back, each as `get_samples` gave it; what raises has taken none."""


class DataSource:
    """A framework's own data source. Made by `data_source`; pickles with what it was made of.

    Attributes:
        name: Of the content: a state that was made under another name is refused.
        make: Gives the source, in the owner's process.
        row: Makes a prompt's columns of a group.
        identify: Gives a sample's group and its own identity.
        cursor: Says where the source is.
        seek: Brings the source there.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], Samples],
        row: Callable[[Sequence[Any]], Any],
        identify: Callable[[Any], tuple[int, int]],
        cursor: Callable[[Any], Any],
        seek: Callable[[Any, Any], None],
    ) -> None:
        self.name = name
        self.make = make
        self.row = row
        self.identify = identify
        self.cursor = cursor
        self.seek = seek

    def to_wire(self) -> Any:
        """How the owner knows the source."""
        return wire.Source(kind="pulled", identity=hashlib.sha256(self.name.encode()).digest())

    def write(self) -> int:
        """Writes a table that nobody reads, as every owner gets one, into a memfd, which the caller passes on and closes."""
        return unread_table("pulled")


class _This:
    """Gives a source that is there already; pickles with it."""

    def __init__(self, source: Samples) -> None:
        self.source = source

    def __call__(self) -> Samples:
        return self.source


def data_source(
    source: Samples | Callable[[], Samples],
    name: str = "data source",
    *,
    row: Callable[[Sequence[Any]], Any] | None = None,
    identify: Callable[[Any], tuple[int, int]] | None = None,
    cursor: Callable[[Any], Any] | None = None,
    seek: Callable[[Any, Any], None] | None = None,
) -> DataSource:
    """A source of prompt groups that a framework's own data source gives: `get_samples(n)`, and `add_samples(groups)` for what goes back.

    It lives in the process of the run's owner, which is the one that calls it: `outrider.own` uses the object itself,
    `outrider.start` sends it to the owner's actor, and a later life of that begins with what was sent and seeks.

    Args:
        source: The data source, or a function without arguments that makes it in the owner's process.
        name: Of its content: a state that was made under another name is refused.
        row: Makes the columns of a prompt of a group's samples: a dict, or a record batch of one row. None: `prompt`, `label` and
            `metadata` (as JSON) of the first. What it raises fails that group's data and nothing else.
        identify: Gives of a sample the identity of its group, the same for all samples of a group and of no other group ever, and
            its own. None: its `group_index` and `index`.
        cursor: Says where the source is, as JSON can hold it: which groups it has given, without those that came back, because
            the run keeps these. None: `state_dict()` where the source has that, else the attributes of slime's sources.
        seek: Brings the source, fresh or not, to what cursor said. None: `load_state_dict(cursor)`, or sets the attributes; a
            source that shuffles its data by epoch needs one that does so here.

    Returns:
        The source, for `outrider.start` or `outrider.own`. It needs ownership="leases".

    Raises:
        ConfigError: Arguments that cannot work, all in one message.
    """
    problems = Problems()
    if not isinstance(name, str) or not name:
        problems.say(f"data_source(name={shown(name)}) names nothing; give text")
    for argument, function in (("row", row), ("identify", identify), ("cursor", cursor), ("seek", seek)):
        if function is not None and not callable(function):
            problems.say(f"data_source({argument}={shown(function)}) is a {type(function).__name__}; give a function")
    if (cursor is None) != (seek is None):
        problems.say("data_source(cursor=..., seek=...) go together: give both, or neither")
    made: Any = source
    if not isinstance(source, type) and hasattr(source, "get_samples") and hasattr(source, "add_samples"):
        made = _This(cast("Samples", source))
    elif not callable(source):
        problems.say(
            f"data_source(source={shown(source)}) is a {type(source).__name__} without get_samples and add_samples; give a data source, or a function that makes one"
        )
    problems.tell()
    return DataSource(name, made, row or first_prompt, identify or by_index, cursor or where, seek or go)


def first_prompt(group: Sequence[Any]) -> dict[str, Any]:
    """The prompt, label and metadata of a group's first sample."""
    first = group[0]
    return {
        "prompt": first.prompt,
        "label": getattr(first, "label", None),
        "metadata": json.dumps(getattr(first, "metadata", None) or {}, sort_keys=True),
    }


def by_index(sample: Any) -> tuple[int, int]:
    """The group and the identity of a sample of slime's kind."""
    return sample.group_index, sample.index


def where(source: Any) -> Any:
    """Where a source is, by its own word or by its attributes."""
    if hasattr(source, "state_dict"):
        return source.state_dict()
    return {name: getattr(source, name) for name in PLACE if hasattr(source, name)}


def go(source: Any, cursor: Any) -> None:
    """Brings a source to where it was."""
    if hasattr(source, "load_state_dict"):
        source.load_state_dict(cursor)
        return
    for name, value in cursor.items():
        setattr(source, name, value)
