"""Every parameter of every public call, found by its signature: a value of another kind is refused by name, and nothing is waited for."""

import inspect
import re

import numpy as np

import outrider

WRONG = [None, "x", b"x", True, -5, 1 << 70, 1.5, float("nan"), [object()], object()]

RIGHT = {
    "adds": {"value": "float64"},
    "batch": None,
    "batch_groups": 1,
    "ca": "ca.pem",
    "cert": "cert.pem",
    "data": [],
    "digest": "digest",
    "error": "error",
    "function": print,
    "group_size": 2,
    "groups": [0],
    "id": "id",
    "key": "key.pem",
    "length": 2,
    "name": "name",
    "names": "reward",
    "reason": "reason",
    "rollout": 0,
    "row": {"question": "?"},
    "rows": {"id": {"question": "?"}},
    "send": lambda version, members: None,
    "slot": 0,
    "source": outrider.table([{"question": "?"}]),
    "value": 0,
    "version": 1,
    "works": [],
}
"""A value that works for each parameter without a default; what a test has made goes before these."""

SAID = {"data": "group_size is 2; give", "value": "slots"}
"""What messages say instead of a parameter's name."""

ELSEWHERE = {
    "Sample": "refused with its group: test_bad_input.py",
    "Hold": "made by Run.hold",
    "Missing": "an error",
}
"""Constructors whose arguments are checked elsewhere, or that nobody calls."""

MADE = re.findall(
    r"\w+",
    "Batch Books Bound Count DataSource EngineState Eviction Group Keyed Lease LeasedGroup MemberStats Members Packed Prompt"
    " Publication Rewound Run StageGroup Stats StepStats Stream Table UpdateReport Work",
)
"""Classes that calls give: their constructors are no user's."""

CORE = re.findall(
    r"\w+",
    "accepted ask_for_work began begin_end cancelled committing end forget made on_cancel over prompt_row publishing"
    " rolling_back rows samples_done submit to_wire write",
)
"""Methods by which Outrider's own modules speak with each other."""


def takes(name, annotation, value):
    """Whether a value is of a kind that the parameter takes."""
    words = set(re.findall(r"\w+", annotation))
    if "Any" in words - {"Mapping", "Iterable"} and not words & {"Mapping", "Iterable"}:
        return True
    kinds = {type(None): "None", str: "str", bool: "bool", bytes: "bytes", float: "float"}
    if type(value) is int:
        return name == "id"
    return (value == value and kinds.get(type(value)) in words) or ("Pem" in words and isinstance(value, (str, bytes)))


def calls(things):
    """Every public call as name, function and signature."""
    for name in outrider.__all__:
        made = getattr(outrider, name)
        if not inspect.isclass(made):
            yield name, made
            continue
        if issubclass(made, BaseException):
            continue
        if name not in {*MADE, *ELSEWHERE}:
            yield name, made
        for method, function in inspect.getmembers(made, inspect.isfunction):
            ours = function.__module__.startswith("outrider") and not method.startswith("_") and method not in CORE
            if ours and inspect.signature(function).parameters.keys() > {"self"}:
                yield f"{name}.{method}", getattr(things[name], method)
        for attribute, got in inspect.getmembers(made, lambda of: isinstance(of, property) and of.fset is not None):
            yield f"{name}.{attribute}", got.fset.__get__(things[name])


def wrong_calls(things):
    """Calls with one value that cannot work, as name, parameter, value and what makes the call."""
    for name, function in calls(things):
        parameters = inspect.signature(function).parameters
        right = {
            key: things.get(key, RIGHT.get(key))
            for key, one in parameters.items()
            if one.default is one.empty and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
        }
        for key, one in parameters.items():
            if one.kind is one.VAR_KEYWORD:
                continue
            assert one.default is not one.empty or key in RIGHT | things, (
                f"{name}({key}): give RIGHT a value that works"
            )
            for value in WRONG:
                if takes(key, str(one.annotation), value):
                    continue
                if one.kind in (one.VAR_POSITIONAL, one.POSITIONAL_ONLY):
                    yield name, key, value, lambda function=function, value=value: function(value)
                else:
                    arguments = {**right, key: value}
                    yield name, key, value, lambda function=function, arguments=arguments: function(**arguments)


async def outcome(call):
    """What a call ends with: the error, or what it gave."""
    try:
        made = call()
        return await made if inspect.isawaitable(made) else made
    except Exception as error:
        return error


def made_with(run, worker, stage):
    """One of each class whose methods are called, and what calls need of them."""
    trainer = outrider.Trainer(run)
    works = [work for _, work in zip(range(3), worker.groups(), strict=False)]
    for work in works[:2]:
        work.complete([outrider.Sample(np.arange(2, dtype=np.int32), 1) for _ in range(2)])
    staged = [group for _, group in zip(range(2), stage.groups(), strict=False)]
    staged[0].add(reward=[0.0, 1.0])
    lease = run.take(0)
    publication = lease.publish()
    batch = trainer.admit(publication)
    return {
        "run": run,
        "publication": publication,
        "Run": run,
        "Worker": worker,
        "Stage": stage,
        "Trainer": trainer,
        "Engine": outrider.Engine(run, "engine"),
        "Work": works[2],
        "StageGroup": staged[1],
        "Lease": lease,
        "Publication": publication,
        "Batch": batch,
        "Group": next(batch.groups()),
        "Packed": batch.packed("tokens"),
    }


async def accepted(things):
    """Wrong calls that did not end with an error that names the parameter."""
    for name, parameter, value, call in wrong_calls(things):
        found = await outcome(call)
        named = any(word in str(found) for word in (parameter, SAID.get(parameter, parameter)))
        if not isinstance(found, (outrider.ConfigError, outrider.DataError)) or not named:
            yield f"{name}({parameter}={value!r}): {found!r}"[:160]


async def test_S3_04_every_argument_of_another_kind_is_refused_by_name(own):
    run = own(batch_groups=1, stages=[{"reward": "float64"}])
    with outrider.Worker(run) as worker, outrider.Stage(run, {"reward": "float64"}, slots=4) as stage:
        bad = [said async for said in accepted(made_with(run, worker, stage))]
    assert not bad, "\n".join(bad)
