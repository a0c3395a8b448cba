"""What the environment says about a run of the job."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from words import PROMPTS

HERE = Path(__file__).resolve().parent


def _text(name: str, default: str) -> str:
    return os.environ.get(name) or default


@dataclass(frozen=True)
class Settings:
    """The variables of job.py's description."""

    seed: int = field(default_factory=lambda: int(_text("SEED", "0")))
    steps: int = field(default_factory=lambda: int(_text("STEPS", "300")))
    faults: bool = field(default_factory=lambda: _text("FAULTS", "0") != "0")
    words: int = field(default_factory=lambda: int(_text("WORDS", str(PROMPTS))))
    epochs: int | None = field(default_factory=lambda: int(_text("EPOCHS", "0")) or None)
    every: int = field(default_factory=lambda: int(_text("CHECKPOINT_EVERY", "20")))
    resume: bool = field(default_factory=lambda: _text("RESUME", "0") != "0")
    ownership: str = field(default_factory=lambda: _text("OWNERSHIP", "leases"))
    out: Path = field(default_factory=lambda: Path(_text("OUT", "build/run")).resolve())

    @property
    def ray(self) -> dict[str, Any]:
        """Arguments of ray.init: an embedded Ray, or the cluster of RAY_ADDRESS with these modules sent along."""
        if "RAY_ADDRESS" not in os.environ:
            return {"address": "local", "num_cpus": 4, "include_dashboard": False}
        # `ray job submit` has sent a working directory of its own.
        submitted = "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ
        return {} if submitted else {"runtime_env": {"working_dir": str(HERE)}}

    @property
    def owned(self) -> bool:
        """Whether groups are leased: only then can the run go back with its trainer."""
        return self.ownership != "none"

    def prepare(self) -> None:
        """Empties the output directory of what an earlier run left, unless this job goes on from it."""
        self.out.mkdir(parents=True, exist_ok=True)
        if self.resume:
            return
        shutil.rmtree(self.out / "checkpoints", ignore_errors=True)
        for name in ("lineage.jsonl", "reward.png", "summary.txt"):
            (self.out / name).unlink(missing_ok=True)
