"""The proof must see each way in which weights and ledger can part."""

import pytest

import lineage


def trained(rollout, *groups, digest=None):
    return {
        "rollout": rollout,
        "groups": [[group, 1, 0, f"w{group}"] for group in groups],
        "digest": digest or f"d{rollout}",
    }


def restored(rollout):
    return {"restored": rollout, "digest": f"d{rollout}"}


def judge(records, acknowledged, unsettled=0, prompts=100):
    return lineage.prove(lineage.account(lineage.follow(records), prompts), acknowledged, unsettled)


def test_a_plain_run_is_proven():
    assert judge([restored(-1), trained(0, 0, 1), trained(1, 2, 3)], 4) == []


def test_what_a_restart_threw_away_counts_once_when_it_was_trained_again():
    records = [restored(-1), trained(0, 0, 1), trained(1, 2, 3), restored(0), trained(1, 3, 2), trained(2, 4, 5)]
    assert judge(records, 6) == []
    found = lineage.follow(records)
    assert [record["rollout"] for record in found.rollouts] == [0, 1, 2]
    assert len(found.thrown_away) == 1


def test_a_group_trained_twice_is_seen():
    assert judge([restored(-1), trained(0, 0, 1), trained(1, 1, 2)], 3) == ["1 groups are in the weights twice: [1]"]


def test_an_acknowledged_group_that_is_not_in_the_weights_is_seen():
    records = [restored(-1), trained(0, 0, 1), trained(1, 2, 3), restored(0), trained(1, 4, 5)]
    assert judge(records, 6) == [
        "the weights contain 4 groups, the ledger acknowledged 6",
        "2 groups were passed over, the ledger still owns only 0",
    ]


def test_a_group_that_nobody_owns_any_more_is_seen():
    records = [restored(-1), trained(0, 0, 1), trained(1, 3, 4)]
    assert judge(records, 4) == ["1 groups were passed over, the ledger still owns only 0"]
    assert judge(records, 4, unsettled=1) == []


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ([restored(-1), trained(0, 0), trained(2, 1)], "line 3: rollout 2 was trained where 1 comes next"),
        ([restored(-1), trained(0, 0), restored(3)], "line 3: restored to rollout 3, but the last one trained is 0"),
        (
            [restored(-1), trained(0, 0, digest="x"), restored(0)],
            "line 3: restored weights are not those that rollout 0 left",
        ),
    ],
)
def test_a_broken_sequence_is_seen(records, problem):
    assert problem in lineage.follow(records).problems


def test_the_same_prompt_twice_in_one_epoch_is_seen():
    first, second = trained(0, 0), trained(1, 1)
    second["groups"][0][3] = "w0"
    assert judge([restored(-1), first, second], 2) == ["groups 0 and 1 of epoch 0 are both the word 'w0'"]
    assert judge([restored(-1), first, second], 2, prompts=1) == []


def test_a_line_cut_by_a_kill_is_left_out(tmp_path):
    writer = lineage.Writer(tmp_path / "lineage.jsonl")
    writer.restored(-1, b"\1")
    writer.trained(0, [lineage.Member(7, 1, 0, "sun")], b"\2")
    expected = [{"restored": -1, "digest": "01"}, {"rollout": 0, "groups": [[7, 1, 0, "sun"]], "digest": "02"}]
    with (tmp_path / "lineage.jsonl").open("a") as file:
        file.write('{"rollout": 1, "gro')
    assert lineage.read((tmp_path / "lineage.jsonl").read_text()) == expected
    lineage.Writer(tmp_path / "lineage.jsonl").restored(0, b"\2")
    assert lineage.read((tmp_path / "lineage.jsonl").read_text()) == [*expected, {"restored": 0, "digest": "02"}]
