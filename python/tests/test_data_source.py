"""A framework's own data source: get_samples, add_samples and a cursor."""

import contextlib
import copy
import dataclasses
import json
import pickle
import threading

import pytest
from test_sources import serving, train

import outrider

GROUP = 2


@dataclasses.dataclass
class FrameworkSample:
    """A sample as frameworks have them: an object of theirs."""

    group_index: int
    index: int
    prompt: str
    label: str = ""
    metadata: dict = dataclasses.field(default_factory=dict)


class Source:
    """A data set with a buffer of what came back."""

    def __init__(self, rows=6):
        self.rows = rows
        self.epoch_id = self.sample_offset = self.sample_group_index = self.sample_index = 0
        self.metadata = {}
        self.buffer = []
        self.asked, self.back, self.threads = [], [], set()
        self.failures = self.refusals = self.short = 0

    def get_samples(self, num_samples):
        self.threads.add(threading.current_thread().name)
        self.asked.append(num_samples)
        out = [self.buffer.pop(0) for _ in range(min(num_samples, len(self.buffer)))]
        while len(out) < num_samples - self.short and self.sample_offset < self.rows:
            out.append(self.group())
        self.short = 0
        if self.failures:
            self.failures -= 1
            raise OSError("the disk is gone")
        return out

    def group(self):
        group = []
        for _ in range(GROUP):
            prompt = f"pulled {self.sample_offset}"
            group.append(FrameworkSample(self.sample_group_index, self.sample_index, prompt, str(self.sample_offset)))
            self.sample_index += 1
        self.sample_offset += 1
        self.sample_group_index += 1
        return group

    def add_samples(self, samples):
        self.threads.add(threading.current_thread().name)
        if self.refusals:
            self.refusals -= 1
            raise RuntimeError("read-only")
        self.back.extend(copy.deepcopy(samples))
        self.buffer.extend(samples)


def question(group):
    return {"question": group[0].prompt, "number": int(group[0].label)}


def pulled(source, **more):
    return outrider.data_source(source, row=question, **more)


@pytest.fixture
def own():
    runs = []

    def make(source, **more):
        options = {"group_size": GROUP, "batch_groups": 2, **more}
        runs.append(outrider.own("data-source", source=source, **options))
        return runs[-1]

    yield make
    for run in runs:
        with contextlib.suppress(outrider.Error):
            run.close(force=True)


def test_S1_20_a_data_source_of_a_framework_feeds_a_run_to_its_end(own):
    source = Source(5)
    run = own(pulled(source))
    with serving(run):
        assert train(run, 4) == {group: [f"pulled {group}"] * GROUP for group in range(5)}
    assert run.close().books.acknowledged.groups == 5
    assert source.back == []
    (thread,) = source.threads
    assert "outrider-source" in thread


def test_S1_20_what_is_requeued_goes_back_as_it_came_and_comes_again(own):
    source = Source(99)
    run = own(pulled(source), limits=outrider.Limits(executing=4))
    attempts = {}

    async def first_time_aborted(prompt):
        attempts.setdefault(prompt["number"], set()).add(prompt.attempt)
        if prompt.attempt == 1:
            raise outrider.Retry("engine aborted")
        return outrider.Sample(tokens=[1, 2], response_length=1, label=prompt["question"])

    with serving(run, first_time_aborted):
        trained = train(run, 2)
    assert sorted(trained.values()) == [[f"pulled {number}"] * GROUP for number in range(4)]
    assert all(attempts[number] == {1, 2} for number in range(4))
    fresh = Source(99)
    given = {group[0].group_index: group for group in fresh.get_samples(99)}
    assert [given[group[0].group_index] for group in source.back] == source.back


def test_S1_10_a_row_that_cannot_be_read_moves_nothing(own):
    source = Source(2)
    source.failures = 1
    run = own(pulled(source))
    with serving(run):
        assert train(run, 2) == {0: ["pulled 0"] * GROUP, 1: ["pulled 1"] * GROUP}
    assert source.sample_offset == 2
    assert source.asked[:1] == source.asked[1:2]


def test_S1_10_what_is_no_list_of_groups_is_refused_and_asked_for_again(own, caplog):
    source = Source(2)
    right, source.get_samples = source.get_samples, lambda num_samples: setattr(source, "get_samples", right) or "none"
    run = own(pulled(source))
    with serving(run):
        assert sorted(train(run, 1)) == [0, 1]
    assert "get_samples(4) gave a str; let it give a list of lists of samples" in caplog.text


def test_S1_19_an_answer_that_is_short_goes_back_once_and_is_asked_for_again(own):
    source = Source(4)
    source.short = 1
    run = own(pulled(source))
    with serving(run):
        assert sorted(train(run, 2)) == [0, 1, 2, 3]
    assert len(source.back) == source.asked[0] - 1


def test_S1_19_a_group_without_its_own_parents_fails_by_name(own, caplog):
    class Wrong(Source):
        def group(self):
            group = super().group()
            if group[0].group_index == 0:
                return group[1:]
            if group[0].group_index == 1:
                group[1].index = group[0].index
            elif group[0].group_index == 2:
                group[1].group_index = 7
            elif group[0].group_index == 3:
                group[0].label = "no number"
            return group

    run = own(pulled(Wrong(6)), policy=outrider.Policy(max_failed=0.9), limits=outrider.Limits(retained=8))
    with serving(run):
        trained = train(run, 1)
    assert sorted(trained) == [4, 5]
    books = run.close().books
    assert (books.acknowledged.groups, books.failed.groups) == (2, 4)
    for words in (
        "has 1 of 2 parents: [1]",
        "has sample 2 twice",
        "says that it is of group 7",
        "invalid literal for int",
    ):
        assert words in caplog.text, words


def test_S1_20_a_close_fails_while_a_group_could_not_go_back(own):
    source = Source()
    run = own(pulled(source), limits=outrider.Limits(executing=4))
    with outrider.Worker(run, slots=4) as worker:
        works = iter(worker.groups())
        assert {next(works).group, next(works).group} == {0, 1}
        source.refusals = 99
    with pytest.raises(outrider.SourceError, match=r"2 groups could not go back.*read-only.*close again"):
        run.close()
    source.refusals = 0
    assert run.close().books.reserved.groups == 0
    assert sorted(group[0].group_index for group in source.back) == [0, 1]


def test_S7_11_a_data_source_goes_on_from_the_state(own):
    run = own(pulled(Source(6)), limits=outrider.Limits(executing=4))
    with serving(run), outrider.Trainer(run) as trainer:
        first = {group.group: group.label for group in trainer.next(0).groups()}
        state = run.state(0)
    run.close()
    with pytest.raises(outrider.ConfigError, match="content: "):
        own(pulled(Source(6), name="other"), state=state)
    with pytest.raises(
        outrider.ConfigError, match="kind: a stream, the state was made with a framework's own data source"
    ):
        own(outrider.stream(), state=state)
    source = Source(6)
    run = own(pulled(source), state=state)
    rest = {}
    with serving(run), outrider.Trainer(run, state_at=0, state=state) as trainer:
        for rollout in (1, 2):
            rest.update({group.group: group.label for group in trainer.next(rollout).groups()})
    assert {**first, **rest} == {group: [f"pulled {group}"] * GROUP for group in range(6)}
    assert not set(first) & set(rest)


def test_S1_19_a_data_source_is_checked_and_pickles():
    for call, message in (
        (lambda: outrider.data_source(5), "without get_samples and add_samples"),
        (lambda: outrider.data_source(Source(), ""), "names nothing"),
        (lambda: outrider.data_source(Source(), row=3), "data_source(row=3) is a int"),
        (lambda: outrider.data_source(Source(), cursor=vars), "give both, or neither"),
    ):
        with pytest.raises(outrider.ConfigError) as caught:
            call()
        assert message in str(caught.value)
    source = pickle.loads(pickle.dumps(outrider.data_source(Source)))
    made = source.make()
    source.seek(made, {"sample_offset": 3})
    assert source.cursor(made)["sample_offset"] == 3
    assert source.row(made.get_samples(1)[0]) == {"prompt": "pulled 3", "label": "3", "metadata": json.dumps({})}


def test_S1_11_nothing_is_pushed_into_a_data_source(own):
    run = own(pulled(Source()))
    with pytest.raises(outrider.Refused, match="no stream"):
        run.push("a", {"question": "x"})
    with pytest.raises(outrider.ConfigError, match="ownership"):
        own(pulled(Source()), ownership="none")
