"""Runs in a box of its own: a Ray with a dashboard, the main job submitted to it, then a look around. `submit.py JOB OUT TMP`."""

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


def main(job, out, temporary):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    os.environ["RAY_AUTH_MODE"] = "disabled"
    head = ["start", "--head", "--node-ip-address=127.0.0.1", f"--port={PORT}", f"--dashboard-port={DASHBOARD}"]
    start = [*head, "--num-cpus=4", "--include-dashboard=true", f"--temp-dir={temporary}", "--disable-usage-stats"]
    subprocess.run([sys.executable, "-c", "from ray.scripts.scripts import main; main()", *start], check=True)
    client = JobSubmissionClient(f"http://127.0.0.1:{DASHBOARD}")
    submitted = client.submit_job(
        entrypoint=f"{sys.executable} job.py",
        runtime_env={"working_dir": job, "env_vars": {"STEPS": "20", "OUT": str(out / "out")}},
    )
    seen = []

    def ended():
        seen.append(len(everything()))
        return client.get_job_status(submitted).is_terminal()

    traces.until(ended, 600, step=0.5)
    traces.until(lambda: not everything(), traces.SECONDS)
    found = {"status": client.get_job_status(submitted).value, "seen": max(seen), "left": everything()}
    print(client.get_job_logs(submitted))
    (out / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
