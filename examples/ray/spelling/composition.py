"""The composition run: the parts of a job that must work together, shown one by one on a real Ray.

    python composition.py      a Ray of its own; RAY_ADDRESS=http://HOST:8265 submits to that cluster

An outer Ray job submits an inner one and waits for it. The inner job (inner.py) takes a real optimizer step; loses it when an engine refuses
the weights at the update boundary, so that weights and ledger go back, and trains the same groups again; overwrites the engines' weights
and sends them anew; and evaluates under a hold that was asked for while groups were running. Each fact is printed with its evidence. OUT is
the directory of what is left behind (build/composition; with a cluster: one that every node sees). Exits 0 only if all facts hold.
"""

import os
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ray.cluster_utils import Cluster
from ray.job_submission import JobStatus, JobSubmissionClient

import inner
from facts import Facts
from settings import HERE, Settings

POLL = 0.5  # seconds


@contextmanager
def cluster() -> Iterator[str]:
    """Address to submit jobs to: the one that RAY_ADDRESS gives, else that of a Ray of this process's own."""
    if "RAY_ADDRESS" in os.environ:
        yield os.environ["RAY_ADDRESS"]
        return
    # ray.init() cannot choose the port of the agent that starts jobs, and another Ray of this host may have the usual one.
    head = {"num_cpus": 4, "include_dashboard": True, "dashboard_agent_listen_port": 0}
    own = Cluster(initialize_head=True, head_node_args=head)
    try:
        yield f"http://{own.head_node.webui_url}"
    finally:
        own.shutdown()


def run(client: JobSubmissionClient, name: str, role: str, out: Path) -> bool:
    """Submits a job of that name and role, prints what it says, and returns whether it succeeded."""
    submitted = client.submit_job(
        submission_id=f"{name}-{role}",
        entrypoint=f"{sys.executable} composition.py {role} {name}",
        runtime_env={"working_dir": str(HERE), "env_vars": {"OUT": str(out)}},
    )
    while not client.get_job_status(submitted).is_terminal():
        time.sleep(POLL)
    print(client.get_job_logs(submitted), end="", flush=True)
    return client.get_job_status(submitted) == JobStatus.SUCCEEDED


def launch(out: Path) -> int:
    """The command: a cluster, the outer job, and how both jobs ended."""
    name, facts = f"composition-{secrets.token_hex(4)}", Facts()
    with cluster() as address:
        client = JobSubmissionClient(address)
        shown = run(client, name, "outer", out)
        ended = [client.get_job_info(f"{name}-{role}") for role in ("inner", "outer")]
    facts.show(
        "inner and outer Ray job succeeded",
        *((job.status == JobStatus.SUCCEEDED, f"{job.submission_id}: {job.status}") for job in ended),
    )
    return 0 if shown and not facts.failed else 1


def main() -> int:
    os.environ.setdefault("OUT", "build/composition")
    settings = Settings()
    match sys.argv[1:]:
        case ["inner", _]:
            return inner.main(settings)
        case ["outer", name]:
            return 0 if run(JobSubmissionClient(), name, "inner", settings.out) else 1
        case _:
            return launch(settings.out)


if __name__ == "__main__":
    sys.exit(main())
