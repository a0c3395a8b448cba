"""The launcher file is what Ray's launcher takes, and what it carries to the nodes is there."""

from pathlib import Path
from typing import Any

import yaml
from ray.autoscaler._private.util import prepare_config, validate_config

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def launcher_file() -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((HERE / "onprem.yaml").read_text())
    return config


def test_ray_accepts_the_file() -> None:
    validate_config(prepare_config(launcher_file()))


def test_each_mount_and_each_lock_file_is_in_the_work_tree() -> None:
    config = launcher_file()
    mounts = config["file_mounts"]
    made_by_commands_of_the_readme = {".build/dist", "~/.ray/auth_token"}
    assert [
        local
        for local in mounts.values()
        if local not in made_by_commands_of_the_readme and not (ROOT / local).is_dir()
    ] == []

    named = [
        word for command in config["setup_commands"] for word in command.split() if word.endswith((".lock", ".sh"))
    ]
    here = {remote: ROOT / local for remote, local in mounts.items()}
    assert named
    assert [word for word in named if not (here[str(Path(word).parent)] / Path(word).name).is_file()] == []
