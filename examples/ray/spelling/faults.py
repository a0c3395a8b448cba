"""What goes wrong on purpose: kills at chosen steps, and two weight updates that an engine refuses."""

import os
import signal
from contextlib import suppress
from typing import Any, NamedTuple

import ray
from ray.exceptions import RayActorError


class Kill(NamedTuple):
    """SIGKILL of one actor when the driver comes to a point of a step."""

    point: str
    step: int
    victim: str
    told: str


# Steps are those of a run of 300; a run of another length has the same plan at the same shares of it.
PLANNED_STEPS = 300
KILLS = (
    Kill("taken", 70, "engine", "which has finished groups in its sidecar"),
    Kill("admitted", 110, "trainer", "inside an open lease"),
    Kill("taken", 150, "owner", "with groups in every state"),
    Kill("committed", 190, "trainer", "after a commit and before the next checkpoint"),
)
# Steps whose weight update one engine refuses to load, however often it is sent. The first goes forward without that engine; the
# second has restore=, so weights and ledger go back by one rollout.
FORWARD, ROLLBACK = 40, 50
SENT = 2  # times that an update sends to an engine that does not confirm


def plan(steps: int) -> list[Kill]:
    """The kills of a run of `steps` steps."""
    return [kill._replace(step=kill.step * steps // PLANNED_STEPS) for kill in KILLS]


def _die(_actor: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Faults:
    """What is still to go wrong.

    Args:
        kills: From `plan`, or none.
        steps: Of the run.
        actors: Handles of the victims by name; "engine" is also the one that refuses weights.
    """

    def __init__(self, kills: list[Kill], steps: int, actors: dict[str, Any]) -> None:
        self._kills, self._actors = list(kills), actors
        self._undo = {FORWARD * steps // PLANNED_STEPS: False, ROLLBACK * steps // PLANNED_STEPS: True}

    def at(self, point: str, step: int) -> None:
        """Carries out what is planned for this point; returns when the victim is dead. Each kill happens once."""
        for kill in [kill for kill in self._kills if (kill.point, kill.step) == (point, step)]:
            self._kills.remove(kill)
            print(f"step {step}: SIGKILL of the {kill.victim} actor, {kill.told}", flush=True)
            with suppress(RayActorError):  # it dies in the call, as it is told to
                ray.get(self._actors[kill.victim].__ray_call__.options(max_task_retries=0).remote(_die))

    def refuse(self, step: int) -> bool:
        """Lets an engine refuse the update after `step`, if that is planned; says whether the update is to be undone then."""
        undo = self._undo.pop(step, None)
        if undo is not None:
            ray.get(self._actors["engine"].refuse.remote(step + 1, SENT))
        return bool(undo)
