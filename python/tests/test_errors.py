import pickle
import re
from pathlib import Path

import pytest

import outrider
from outrider import errors

EVERY = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, outrider.Error)]


@pytest.mark.parametrize("kind", EVERY)
def test_every_error_pickles_with_its_words(kind):
    error = pickle.loads(pickle.dumps(kind("outrider: object=1, limit 2; way out")))
    assert type(error) is kind
    assert str(error) == "outrider: object=1, limit 2; way out"


def test_the_kind_of_a_wire_error_survives_pickling():
    error = pickle.loads(pickle.dumps(errors.from_wire("revoked", "outrider: gone")))
    assert type(error) is outrider.Refused
    assert errors.kind_of(error) == "revoked"


def test_a_kind_of_a_later_sidecar_is_an_error_all_the_same():
    assert type(errors.from_wire("of_tomorrow", "outrider: new")) is outrider.Error


def test_the_tree():
    assert issubclass(outrider.Stale, outrider.Refused)
    assert issubclass(outrider.NotAdmitted, outrider.Refused)
    assert issubclass(outrider.CohortChanged, outrider.Refused)
    assert issubclass(outrider.Conflict, outrider.Refused)
    assert issubclass(outrider.Unsupported, outrider.DataError)
    assert issubclass(outrider.Damaged, outrider.DataError)
    assert issubclass(outrider.EndOfRun, outrider.Closed)
    assert all(issubclass(kind, outrider.Error) for kind in EVERY)


def test_the_table_has_the_kinds_of_the_sidecar():
    source = Path(__file__).parents[2] / "bridge" / "errors.go"
    kinds = set(re.findall(r'Kind = "(\w+)"', source.read_text()))
    assert kinds == set(errors.KINDS)


def test_an_update_that_failed_carries_its_causes_even_those_that_do_not_pickle():
    class Local(Exception):
        pass

    failed = outrider.UpdateFailed("outrider: no engine", (ValueError("nccl"), Local("stuck")))
    again = pickle.loads(pickle.dumps(failed))
    assert [str(cause) for cause in again.causes] == ["nccl", "Local: stuck"]
    assert type(again.causes[0]) is ValueError
