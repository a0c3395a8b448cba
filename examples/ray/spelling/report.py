"""What the job leaves behind: a table, the same as text, and the reward curve."""

import os
from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def sidecar_memory(_actor: object = None) -> int:
    """Resident bytes of this process's own sidecar; 0 without one."""
    total = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            status = dict(line.split(":", 1) for line in (entry / "status").read_text().splitlines())
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue  # it ended meanwhile
        if int(status["PPid"]) == os.getpid() and b"sidecar" in arguments:
            total += int(status.get("VmRSS", "0 kB").split()[0]) * 1024
    return total


def means(rewards: Sequence[float], window: int = 20) -> tuple[float, float]:
    """Mean of the first and of the last `window` rewards."""
    return float(np.mean(rewards[:window])), float(np.mean(rewards[-window:]))


def table(rows: Sequence[tuple[str, str]]) -> str:
    """Two columns of text."""
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def curve(path: Path, rewards: Sequence[float], marks: Sequence[tuple[int, str]]) -> None:
    """Draws the mean reward of each rollout in the final weights, and where a fault was."""
    figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
    axes.plot(rewards, color="#9db8d2", linewidth=1, label="batch")
    window = min(20, len(rewards))
    smooth = np.convolve(rewards, np.ones(window) / window, mode="valid")
    axes.plot(np.arange(len(smooth)) + window - 1, smooth, color="#1f4e79", linewidth=2, label=f"mean of {window}")
    for step, what in marks:
        axes.axvline(step, color="#b03030", linewidth=0.8, linestyle=":")
        axes.annotate(what, (step, 0.02), rotation=90, fontsize=7, color="#b03030", ha="right")
    axes.set(xlabel="rollout", ylabel="mean reward", ylim=(0, 1), title="spell_backward: GRPO with Outrider")
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=120)
    plt.close(figure)
