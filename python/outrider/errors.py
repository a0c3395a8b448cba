"""The exceptions of Outrider: one tree, one table from the wire's error kinds to classes.

Every message says what was asked, what is the case, and what to do. Every exception pickles, because it may cross Ray.
"""

from __future__ import annotations

import pickle


class Error(Exception):
    """Anything that Outrider refuses or cannot do; the message is the sidecar's or the shim's own."""


class ConfigError(Error, ValueError):
    """An argument or a limit that cannot work. Names the argument, its value, the limit and the way out.

    Every public call raises it for an argument of another kind than it takes, before anything has happened; only an argument that
    is missing, or that no parameter takes, is Python's own `TypeError`. What is wrong with rows is a `DataError`.
    """


class StartError(Error):
    """The sidecar of this process did not come up. Carries the sidecar's last lines."""


class Refused(Error):
    """The ledger refused the request; nothing has changed."""


class Stale(Refused):
    """A receipt, a lease or a version that another attempt, timeline or life of the owner has made void."""


class NotAdmitted(Refused):
    """A commit was asked while a required trainer rank has not admitted the publication."""


class CohortChanged(Refused):
    """The trainer ranks are not those that the batch was published to."""


class Conflict(Refused):
    """Somebody else has what was asked for: a run's name, a rollout, a hold."""


class NoWorkers(Refused):
    """A take waited, and no worker was there to fill it for `join_timeout`. Says what is missing; take again when workers are back."""


class Retry(Error):
    """Raised by the user's function: another attempt, please, that is not counted as the data's fault."""


class UpdateFailed(Error):
    """A weight update did not reach a single engine, or was rolled back.

    Attributes:
        causes: What `send`, `restore` or the engines raised, in order.
    """

    def __init__(self, message: str, causes: tuple[BaseException, ...] = ()) -> None:
        super().__init__(message)
        self.causes = causes

    def __reduce__(self) -> tuple[type[UpdateFailed], tuple[str, tuple[BaseException, ...]]]:
        return type(self), (str(self), tuple(_picklable(cause) for cause in self.causes))


def _picklable(cause: BaseException) -> BaseException:
    """The exception, or its words if it cannot cross to another process."""
    try:
        pickle.loads(pickle.dumps(cause))
    except Exception:
        return Error(f"{type(cause).__name__}: {cause}")
    return cause


class SourceError(Error):
    """The supply of prompt groups failed."""


class RunFailed(Error):
    """The run has ended because the share `Policy.max_failed` of its groups has failed; has the first failure's own words.

    `Run.stats` and `Run.close` still give the counts and the final state.
    """


class DataError(Error, ValueError):
    """Rows that break the schema rules. Names row, column, what was expected and what was found."""


class Unsupported(DataError):
    """Well-formed data of a kind that Outrider does not read."""


class Damaged(DataError):
    """Bytes that are not a whole Arrow stream."""


class Closed(Error):
    """The run, the worker, the trainer or the sidecar behind them has ended."""


class EndOfRun(Closed):
    """Every group of the source has settled: there is nothing left to take or to run."""


class OwnerLost(Error):
    """The run's owner cannot be found."""


KINDS: dict[str, type[Error]] = {
    "config": ConfigError,
    "start": StartError,
    "refused": Refused,
    "revoked": Refused,
    "stale": Stale,
    "not_admitted": NotAdmitted,
    "cohort_changed": CohortChanged,
    "conflict": Conflict,
    "update_failed": UpdateFailed,
    "source": SourceError,
    "failed": RunFailed,
    "state": ConfigError,
    "data": DataError,
    "unsupported": Unsupported,
    "damaged": Damaged,
    "closed": Closed,
    "end_of_run": EndOfRun,
    "owner_lost": OwnerLost,
    "no_workers": NoWorkers,
    "internal": Error,
}
"""The wire's error kinds. A kind that is not here (a later sidecar's) becomes a plain `Error`."""


def from_wire(kind: str, message: str) -> Error:
    """The exception for an error frame.

    Args:
        kind: A row of `KINDS`.
        message: The sidecar's words; kept as they are.

    Returns:
        An exception whose `kind` attribute is the wire's kind, not yet raised.
    """
    error = KINDS.get(kind, Error)(message)
    error.__dict__["kind"] = kind
    return error


def kind_of(error: BaseException) -> str:
    """The wire's kind of an exception made by `from_wire`; empty for any other."""
    return str(error.__dict__.get("kind", ""))
