"""Several hosts on this machine: each has processes and a network of its own, and an address on one bridge. Needs root and iproute2.

All of it lives in namespaces that end with this process, however it ends: nothing is ever left on the machine.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SWITCH = 0
"""The host that is only a network: the bridge is there, so that no name or address meets another test's."""
ENDS_WITH_US = ["setpriv", "--pdeathsig", "KILL"]
NEW = [*ENDS_WITH_US, "unshare", "--net", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child"]
RAY = [sys.executable, "-c", "from ray.scripts.scripts import main; main()"]


def denied():
    """Why there can be no hosts here; None when there can."""
    if os.geteuid() != 0:
        return "hosts are network namespaces, and making them needs root"
    for tool in ("ip", "setpriv", "unshare", "nsenter"):
        if shutil.which(tool) is None:
            return f"hosts are network namespaces, and making them needs the command {tool}"
    done = subprocess.run(["unshare", "--net", "--pid", "--fork", "true"], capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else None


class Hosts:
    """Hosts 1..count, in a network of their own. As a context manager: nothing of them is left after it.

    Args:
        count: How many.
        directory: Where each keeps the files of its Ray; a short path, because sockets are among them.
        environment: Of everything that is run there.
    """

    def __init__(self, count, directory, environment):
        self.count, self.directory, self.environment = count, directory, environment
        self.inits = {}  # host -> its process 1, as unshare's child

    def __enter__(self):
        try:
            self._boot(SWITCH)
            self._ip(SWITCH, "link add bridge type bridge")
            self._ip(SWITCH, "link set bridge up")
            for host in range(1, self.count + 1):
                self._boot(host)
                self._ip(SWITCH, f"link add port{host} type veth peer name eth0 netns {self._first(host)}")
                self._ip(SWITCH, f"link set port{host} master bridge up")
                self._ip(host, "link set lo up")
                self._ip(host, f"addr add {self.address(host)}/24 dev eth0")
                self._ip(host, "link set eth0 up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for host in list(self.inits):
            self.kill(host)

    def address(self, host):
        return f"10.77.0.{host}"

    def start_ray(self, host):
        """Starts Ray there, the first host as its head; the resource `hostN` is on host N alone."""
        where = (
            ["--head", "--port=6379", "--include-dashboard=false"]
            if host == 1
            else [f"--address={self.address(1)}:6379"]
        )
        options = [
            f"--node-ip-address={self.address(host)}",
            "--num-cpus=2",
            f'--resources={{"host{host}": 100}}',
            "--disable-usage-stats",
        ]
        if host == 1:
            options.append(f"--temp-dir={self.directory}/1")
        done = self.run(host, *RAY, "start", *where, *options)
        out, _ = done.communicate()
        assert done.returncode == 0, out

    def run(self, host, *command, **environment):
        """Starts a command there, with more of an environment; its input and output are pipes of text."""
        inside = ["nsenter", "-t", str(self._first(host)), "--net", "--pid", "--mount", f"--wd={self.directory}", "--"]
        return subprocess.Popen(
            [*inside, *map(str, command)],
            env={**self.environment, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def stop_ray(self, host):
        """Stops Ray there, in order; returns when Ray says that it has."""
        done = self.run(host, *RAY, "stop")
        out, _ = done.communicate()
        assert done.returncode == 0, out

    def has(self, host, pid):
        """Whether a process, by its pid here, is on that host."""
        return Path(f"/proc/{pid}/ns/net").samefile(f"/proc/{self._first(host)}/ns/net")

    def kill(self, host):
        """The host loses its power: every process there ends at once."""
        init = self.inits.pop(host)
        init.kill()
        init.wait()

    def _boot(self, host):
        command = [*NEW, "sh", "-c", "echo up; exec sleep infinity"]
        self.inits[host] = init = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert init.stdout.readline() == "up\n"

    def _first(self, host):
        """Pid, seen from here, of the host's process 1."""
        pid = self.inits[host].pid
        with open(f"/proc/{pid}/task/{pid}/children") as children:
            return int(children.read().split()[0])

    def _ip(self, host, words):
        inside = ["nsenter", "-t", str(self._first(host)), "--net", "ip", *words.split()]
        subprocess.run(inside, check=True, capture_output=True)
