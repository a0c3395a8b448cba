"""The trainer's own record of what its weights contain, and the proof made from it.

Nothing here knows Outrider. The trainer appends one line for each optimizer step (`rollout`: the groups of the batch, in row order) and
one each time it starts or goes back (`restored`: the last rollout of the weights it then has). From these lines alone follows
which groups the final weights contain; what the ledger says is only compared with it.
"""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

Record = dict[str, Any]


class Member(NamedTuple):
    """One group of a batch, as its rows said."""

    group: int
    attempt: int
    version: int  # of the weights that sampled it
    word: str


class Writer:
    """Appends to the file; each line is with the kernel when a call returns, so that a killed trainer loses none."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b")
        self._file.seek(0)
        self._file.truncate(self._file.read().rfind(b"\n") + 1)  # what a kill cut short

    def restored(self, rollout: int, digest: bytes) -> None:
        self._write({"restored": rollout, "digest": digest.hex()})

    def trained(self, rollout: int, members: Iterable[Member], digest: bytes) -> None:
        self._write({"rollout": rollout, "groups": list(members), "digest": digest.hex()})

    def _write(self, record: Record) -> None:
        self._file.write(json.dumps(record).encode() + b"\n")
        self._file.flush()


def read(text: str) -> list[Record]:
    """The records of a lineage file; a last line that a kill cut short was never trained on by anybody."""
    lines = text.split("\n")
    return [json.loads(line) for line in lines[:-1]]


class Lineage(NamedTuple):
    """What the final weights contain."""

    rollouts: list[Record]  # in the order of training
    thrown_away: list[Record]  # trained, but into weights that a restart or a rollback gave up
    problems: list[str]


def follow(records: Iterable[Record]) -> Lineage:
    """Walks the records: a `restored` line takes the rollouts after it out of the weights again."""
    kept: list[Record] = []
    gone: list[Record] = []
    problems: list[str] = []
    for number, record in enumerate(records, 1):
        if "restored" in record:
            while kept and kept[-1]["rollout"] > record["restored"]:
                gone.append(kept.pop())
            has = kept[-1]["rollout"] if kept else -1
            if record["restored"] != has:
                problems.append(
                    f"line {number}: restored to rollout {record['restored']}, but the last one trained is {has}"
                )
            elif kept and kept[-1]["digest"] != record["digest"]:
                problems.append(f"line {number}: restored weights are not those that rollout {has} left")
        else:
            expected = kept[-1]["rollout"] + 1 if kept else 0
            if record["rollout"] != expected:
                problems.append(f"line {number}: rollout {record['rollout']} was trained where {expected} comes next")
            kept.append(record)
    return Lineage(kept, gone, problems)


class Account(NamedTuple):
    """Each prompt group's place in the final weights."""

    trained: int  # groups in the weights
    twice: list[int]  # of these, more than once
    thrown_away: list[int]  # only in weights that were given up
    absent: list[int]  # below the highest group seen, and in no weights at all
    problems: list[str]


def account(lineage: Lineage, prompts: int) -> Account:
    """Counts groups. Group g is prompt number `g % prompts` of epoch `g // prompts`, so an epoch must not show a word twice."""
    times = Counter(Member(*member).group for record in lineage.rollouts for member in record["groups"])
    gone = {Member(*member).group for record in lineage.thrown_away for member in record["groups"]} - set(times)
    highest = max([*times, *gone], default=-1)
    problems = list(lineage.problems)
    words: dict[tuple[int, str], int] = {}
    for record in lineage.rollouts:
        for group, _, _, word in record["groups"]:
            other = words.setdefault((group // prompts, word), group)
            if other != group:
                problems.append(f"groups {other} and {group} of epoch {group // prompts} are both the word {word!r}")
    twice = sorted(group for group, count in times.items() if count > 1)
    absent = sorted(set(range(highest + 1)) - set(times) - gone)
    return Account(len(times), twice, sorted(gone), absent, problems)


def cover(found: Account, groups: int) -> list[str]:
    """What speaks against "each group below `groups`, that is each epoch, was trained"; with 0 nothing is asked."""
    if not groups or found.trained == groups:
        return []
    return [f"the weights contain {found.trained} of the {groups} groups of all epochs"]


def prove(found: Account, acknowledged: int, unsettled: int) -> list[str]:
    """What speaks against "the weights contain each acknowledged group exactly once"; empty: it is proven.

    `acknowledged` and `unsettled` (live, to be replayed, discarded or failed: not in the weights) are the ledger's counts of groups.
    """
    problems = list(found.problems)
    if found.twice:
        problems.append(f"{len(found.twice)} groups are in the weights twice: {found.twice[:5]}")
    if found.trained != acknowledged:
        problems.append(f"the weights contain {found.trained} groups, the ledger acknowledged {acknowledged}")
    outside = len(found.absent) + len(found.thrown_away)
    if outside > unsettled:
        problems.append(f"{outside} groups were passed over, the ledger still owns only {unsettled}")
    return problems
