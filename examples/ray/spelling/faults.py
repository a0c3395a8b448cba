"""What goes wrong on purpose: kills at chosen steps, and two weight updates that an engine refuses."""

import os
import signal
from contextlib import suppress
from typing import Any, NamedTuple

import ray
from ray.exceptions import RayActorError

# How a member of the run is found: the driver's actors by role, the owner by the name that outrider gives its actor.
ENGINE, TRAINER, OWNER = "engine", "trainer", "owner"


class Kill(NamedTuple):
    """SIGKILL of one actor when the driver comes to a point of a step."""

    point: str
    step: int
    victim: str
    told: str


KILLS = (
    Kill("taken", 70, ENGINE, "with groups in work"),
    Kill("admitted", 110, TRAINER, "inside an open lease"),
    Kill("taken", 150, OWNER, "with groups in every state"),
    Kill("committed", 190, TRAINER, "after a commit and before the next checkpoint"),
)

# Steps whose weight update engine 0 refuses to load, and how often. Twice: the update goes forward without it. Once, with
# restore= given: weights and ledger go back by one rollout.
FORWARD, ROLLBACK = 40, 50
REFUSALS = {FORWARD: 2, ROLLBACK: 1}


def _die(_actor: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Faults:
    """The kills that are still to come."""

    def __init__(self, kills: tuple[Kill, ...], actors: dict[str, Any]) -> None:
        self._waiting, self._actors = list(kills), actors
        self._refusals = dict(REFUSALS)

    def at(self, point: str, step: int) -> None:
        """Carries out what is planned for this point; returns when the victim is dead. Each kill happens once."""
        for kill in [kill for kill in self._waiting if (kill.point, kill.step) == (point, step)]:
            self._waiting.remove(kill)
            print(f"step {step}: SIGKILL of the {kill.victim} actor, {kill.told}", flush=True)
            with suppress(RayActorError):  # it dies in the call, as it is told to
                ray.get(self._actors[kill.victim].__ray_call__.remote(_die))

    def refuse(self, step: int) -> bool:
        """Lets engine 0 refuse the update after `step`, if that is planned; says whether the update is to be undone then."""
        times = self._refusals.pop(step, 0)
        if times:
            ray.get(self._actors[ENGINE].refuse.remote(step + 1, times))
        return times > 0 and step == ROLLBACK
