"""The composition run, as it is called."""

import os
import subprocess
import sys
from pathlib import Path

FACTS = (
    "one real optimizer step",
    "an update that fails takes weights, ledger and engines back together",
    "the groups of the lost step replay and train once",
    "engine weights overwritten, and sent again",
    "one hold with work in it",
    "the final weights contain each acknowledged group once",
    "inner and outer Ray job succeeded",
)


def test_S8_15_one_command_shows_each_part_of_the_composition(tmp_path):
    inherited = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("composition.py")],
        env={**inherited, "OUT": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "NOT SO" not in done.stdout
    for fact in FACTS:
        assert f"HOLDS   {fact}\n" in done.stdout
