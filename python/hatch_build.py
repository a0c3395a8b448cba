"""The wheel's build hook: builds the sidecar's static binary and puts it into the package.

The binary is package data, `outrider/_bin/outrider`, mode 0755; it links nothing, so the wheel fits every Linux of its
architecture and needs no compiler where it is installed. `outrider/_bin/LICENSES.txt` beside it holds the licenses of
the Go modules inside, as they ask for.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Go's names of the architectures that the sidecar is built for, and the wheel's platform tags.
PLATFORMS = {"amd64": "linux_x86_64", "arm64": "linux_aarch64"}

LICENSE_FILE = re.compile(r"(LICEN[CS]E|COPYING|NOTICE)", re.IGNORECASE)


class SidecarBuildHook(BuildHookInterface[Any]):
    """Adds `outrider/_bin/outrider` to the wheel and tags the wheel with its platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the binary and register it with the wheel.

        Args:
            version: `standard`, or `editable`: then the binary goes where the package is imported from.
            build_data: hatchling's; gets the platform tag and the binary.

        Raises:
            RuntimeError: no Go on PATH, the Go sources are not beside this package, an architecture without a
                platform tag, a module without a license, or the build failed; the message carries Go's own words.
        """
        root = Path(self.root).parent
        if not (root / "go.mod").is_file():
            raise RuntimeError(f"outrider: {root} holds no go.mod; build the wheel inside a clone of the repository")
        if shutil.which("go") is None:
            raise RuntimeError(
                "outrider: no go on PATH; install Go (go.mod names the least version) to build the wheel"
            )

        arch = self._go(root, "env", "GOARCH").strip()
        if arch not in PLATFORMS:
            raise RuntimeError(f"outrider: GOARCH={arch} is not supported; build for one of {', '.join(PLATFORMS)}")
        # An editable install imports the package from here; a wheel is built elsewhere, so that it leaves nothing here.
        bin_dir = Path(self.root) / "outrider/_bin" if version == "editable" else root / ".build/wheel"
        binary, licenses = bin_dir / "outrider", bin_dir / "LICENSES.txt"
        ldflags = f"-ldflags=-s -w -X main.version={self.metadata.version}"
        self._go(root, "build", "-trimpath", ldflags, "-o", str(binary), "./cmd/outrider")
        binary.chmod(0o755)
        licenses.write_text(self._licenses(root))

        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{PLATFORMS[arch]}"
        if version != "editable":
            build_data["force_include"].update({str(f): f"outrider/_bin/{f.name}" for f in (binary, licenses)})

    def _licenses(self, root: Path) -> str:
        """The project's license and those of every Go module that the binary holds, each under the module's name."""
        listing = self._go(
            root, "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}", "./cmd/outrider"
        )
        texts = []
        for path, release, folder in sorted({tuple(line.split("\t")) for line in listing.splitlines() if line}):
            found = sorted(f for f in Path(folder).iterdir() if f.is_file() and LICENSE_FILE.match(f.name))
            if not found:
                raise RuntimeError(f"outrider: {path} {release} has no license file; a wheel may not carry it")
            texts += [f"{'=' * 80}\n{path} {release}: {f.name}\n\n{f.read_text(errors='replace')}" for f in found]
        return "\n".join(texts)

    @staticmethod
    def _go(root: Path, *args: str) -> str:
        env = {**os.environ, "CGO_ENABLED": "0", "GOOS": "linux", "GOFLAGS": "-mod=readonly -buildvcs=false"}
        done = subprocess.run(["go", *args], cwd=root, env=env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"outrider: go {' '.join(args)} failed in {root}:\n{done.stderr.strip()}")
        return done.stdout
