"""Runs in a box of its own: a Ray with a dashboard, jobs submitted to it, then a look around. `submit.py JOB OUT TMP`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import traces
from ray.job_submission import JobSubmissionClient

PORT, DASHBOARD = 6379, 8265  # of the box's own network


def everything():
    """What runs of Outrider have in the box: the box is this job's alone."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    processes = [pid for pid in pids if traces.command(pid)[1:2] == [b"sidecar"] and traces.alive(pid)]
    return [*processes, *sorted(traces.all_sockets()), *sorted(traces.all_memory())]


def start_ray(temporary):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    os.environ |= {"RAY_AUTH_MODE": "disabled", traces.MARK: "submitted"}
    head = ["start", "--head", "--node-ip-address=127.0.0.1", f"--port={PORT}", f"--dashboard-port={DASHBOARD}"]
    start = [*head, "--num-cpus=4", "--include-dashboard=true", f"--temp-dir={temporary}", "--disable-usage-stats"]
    subprocess.run([sys.executable, "-c", "from ray.scripts.scripts import main; main()", *start], check=True)
    return JobSubmissionClient(f"http://127.0.0.1:{DASHBOARD}")


def submit(client, directory, command, *, stop=False, **environment):
    """Follows a job to its end, or stops it once it is ready; says its status, how much of Outrider there was, and what is left."""
    submitted = client.submit_job(
        entrypoint=f"{sys.executable} {command}",
        runtime_env={"working_dir": str(directory), "env_vars": environment},
    )
    seen, stopped = [], []

    def ended():
        seen.append(len(everything()))
        if stop and not stopped and "ready" in client.get_job_logs(submitted):
            stopped.append(client.stop_job(submitted))
        return client.get_job_status(submitted).is_terminal()

    traces.until(ended, 600, step=0.5)
    traces.until(lambda: not everything(), traces.SECONDS)
    print(client.get_job_logs(submitted))
    return {"status": client.get_job_status(submitted).value, "seen": max(seen), "left": everything()}


def main(job, out, temporary):
    client, here = start_ray(temporary), Path(__file__).parent
    found = [
        submit(client, job, "job.py", STEPS="20", OUT=str(out / "out")),
        submit(client, here, "driver.py raises", ADDRESS="auto"),
        submit(client, here, "driver.py waits", ADDRESS="auto", stop=True),
    ]
    (out / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
