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


def job(hosts, *owner):
    """A job with one group trained, one completed and more running on each engine's host."""
    driver = hosts.run(1, sys.executable, HERE / "nodes.py", f"{hosts.address(1)}:6379", hosts.address(1), *owner)
    assert read_until(driver, "ready") == "[1, 1]"
    return driver


def goes_on(driver):
    """The job has lost a host and trains all the same; what it found."""
    driver.stdin.close()
    found = json.loads(read_until(driver, "trained"))
    assert driver.wait() == 0
    # Each once, also those that the lost host held, unfinished or not yet trained.
    assert found["groups"] == list(range(16))
    return found


def held(hosts, host, mark):
    """Traces of a host's sidecars, and the processes that those were made for."""
    pids = [pid for pid in traces.sidecars(mark) if hosts.has(host, pid)]
    return traces.of(pids, mark), {traces.parent(pid) for pid in pids}


def test_L_08_groups_cross_hosts_and_those_of_a_lost_host_replay(three):
    made, _ = three
    driver = job(made)
    made.kill(3)
    found = goes_on(driver)
    assert (found["owner"], found["lives"]) == (made.address(1), 1)  # beside the driver: no other host's loss ends it
    trained, *rest = found["held_there"]
    assert trained not in found["again"]
    assert set(rest) <= set(found["again"])


def test_L_04_S1_23_an_owner_on_a_lost_host_goes_on_at_another(three):
    made, _ = three
    driver = job(made, made.address(3))
    made.kill(3)
    found = goes_on(driver)
    assert (found["owner"], found["lives"]) == (made.address(3), 2)
    assert found["again"] == []  # what nobody knows of any more is in its first attempt, under receipts of the new term


def test_L_06_ray_stop_on_a_host_ends_its_sidecars_and_its_groups_replay(three):
    made, mark = three
    driver = job(made)
    there, workers = held(made, 3, mark)
    assert there.memory  # a finished group
    made.stop_ray(3)
    traces.assert_gone(there, workers)
    found = goes_on(driver)
    trained, *rest = found["held_there"]
    assert trained not in found["again"]
    assert set(rest) <= set(found["again"])


def test_L_06_nothing_is_left_on_any_host_after_ray_stop(three):
    made, mark = three
    driver = job(made)
    there = [held(made, host, mark) for host in (1, 2, 3)]
    assert [len(sidecars.pids) for sidecars, _ in there] == [2, 1, 1]  # owner and trainer; an engine each
    for host in (3, 2, 1):
        made.stop_ray(host)
    for sidecars, workers in there:
        traces.assert_gone(sidecars, workers)
    assert driver.wait() != 0
