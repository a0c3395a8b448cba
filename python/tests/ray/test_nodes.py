"""Several nodes, each a host of its own with a network between them."""

import json
import os
import secrets
import sys
import tempfile
from pathlib import Path

import hosts
import pytest
import traces
from test_jobs import read_until

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(hosts.denied() is not None, reason=f"no hosts here: {hosts.denied()}")


@pytest.fixture
def three():
    """Three hosts with Ray on each, and the mark of all that runs there."""
    mark = secrets.token_hex(8)
    inherited = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    with tempfile.TemporaryDirectory(prefix="or-", dir="/tmp", ignore_cleanup_errors=True) as short:
        environment = {
            **inherited,
            traces.MARK: mark,
            "PYTHONPATH": str(HERE),
            "TMPDIR": short,
            "RAY_AUTH_MODE": "disabled",
        }
        with hosts.Hosts(3, short, environment) as made:
            for host in (1, 2, 3):
                made.start_ray(host)
            yield made, mark
        assert traces.until(lambda: not traces.sidecars(mark))


@pytest.mark.skip(reason="not settled: after the host is lost some runs take a minute and count attempts from 1 again")
def test_L_08_groups_cross_hosts_and_those_of_a_lost_host_replay(three):
    made, _ = three
    driver = made.run(1, sys.executable, HERE / "nodes.py", f"{made.address(1)}:6379", made.address(1))
    assert read_until(driver, "ready") == "[1, 1]"  # one group of each engine's host has been trained
    made.kill(3)
    driver.stdin.close()
    found = json.loads(read_until(driver, "trained"))
    assert driver.wait() == 0
    assert found["groups"] == list(range(16))  # also those that the lost host held, unfinished or not yet trained
    trained = found["held_there"][0]
    assert trained not in found["again"]
