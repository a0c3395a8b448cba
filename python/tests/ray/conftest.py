"""A real Ray for each module, and runs on it."""

import contextlib
import os
import secrets
from pathlib import Path

import actors
import pytest
import ray
import traces

import outrider


@pytest.fixture(scope="module")
def mark():
    """Marks the environment of every process that this module starts, see `traces`."""
    mark = secrets.token_hex(8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(traces.MARK, mark)
        patch.setenv("PYTHONPATH", os.fspath(Path(__file__).parent), os.pathsep)  # workers import the actors, too
        patch.setenv("OUTRIDER_VERIFY", os.environ.get("OUTRIDER_VERIFY", "all"))
        yield mark


@pytest.fixture(scope="module")
def cluster(mark):
    """An embedded Ray whose processes carry the mark; nothing of its runs is left after it."""
    ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield mark
    here = traces.of(traces.sidecars(mark), mark)
    workers = {traces.parent(pid) for pid in here.pids}
    workers -= {0, 1, os.getpid()}  # the actor of a sidecar that is ending has been killed
    ray.shutdown()
    traces.assert_gone(here, workers)


@pytest.fixture
def start(cluster):
    """Starts runs of few groups, and ends what a test leaves open."""
    runs = []

    def make(name, *, count=8, epochs=1, batch_groups=2, source=None, **more):
        if source is None:
            source = outrider.table(actors.rows(count), epochs=epochs)
        run = outrider.start(name, source=source, group_size=2, batch_groups=batch_groups, **more)
        runs.append(run)
        return run

    yield make
    for run in runs:
        with contextlib.suppress(outrider.Error):
            run.close(force=True)


@pytest.fixture
def owner(start):
    """The actor of a run's owner."""
    return lambda run: ray.get_actor(f"outrider:{run.name}")


@pytest.fixture
def trainer(tmp_path):
    """Makes trainer actors, each with a checkpoint of its own."""
    made = []

    def make(run):
        made.append(actors.Trainer.remote(run, str(tmp_path / f"checkpoint-{len(made)}")))
        return made[-1]

    yield make
    for actor in made:
        ray.kill(actor)


@pytest.fixture
def engine():
    """Makes engine actors."""
    made = []

    def make(run, **options):
        made.append(actors.Engine.options(**options).remote(run))
        ray.get(made[-1].processes.remote())
        return made[-1]

    yield make
    for actor in made:
        ray.kill(actor)


@pytest.fixture(scope="session")
def spelling():
    """The directory of the main job."""
    return Path(__file__).parents[3] / "examples" / "ray" / "spelling"
