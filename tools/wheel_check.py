"""Checks the built wheel: one wheel, of this platform, with a static sidecar that runs.

Usage: wheel_check.py DIST. Prints nothing when all is well; otherwise one line for each thing that is wrong.
"""

from __future__ import annotations

import stat
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

BINARY = "outrider/_bin/outrider"
NEEDED = (BINARY, "outrider/_bin/LICENSES.txt", "outrider/__init__.py", "outrider/py.typed", "outrider/_wire_pb2.py")
# Program header type of an ELF file that names a dynamic loader, and the offsets of a 64-bit ELF header's fields.
PT_INTERP, PHOFF, PHENTSIZE = 3, slice(32, 40), slice(54, 58)


def is_static(elf: bytes) -> bool:
    """Whether a 64-bit little-endian ELF file asks for no dynamic loader."""
    start = int.from_bytes(elf[PHOFF], "little")
    size, count = (int.from_bytes(elf[PHENTSIZE][i : i + 2], "little") for i in (0, 2))
    headers = (elf[start + i * size :][:4] for i in range(count))
    return elf[:5] == b"\x7fELF\x02" and all(int.from_bytes(h, "little") != PT_INTERP for h in headers)


def problems(wheel: Path) -> list[str]:
    """What is wrong with a wheel, a line each."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        missing = [f"{wheel.name} lacks {name}" for name in NEEDED if name not in names]
        missing += [f"{wheel.name} carries {name}" for name in sorted(names) if "test" in Path(name).name]
        if BINARY not in names:
            return missing
        mode = stat.S_IMODE(archive.getinfo(BINARY).external_attr >> 16)
        if mode != 0o755:
            missing.append(f"{BINARY} has mode {mode:04o} in {wheel.name}; it must be 0755")
        elf = archive.read(BINARY)
    if not is_static(elf):
        missing.append(f"{BINARY} in {wheel.name} is not a static binary")
    version = wheel.name.split("-")[1]
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "outrider"
        binary.write_bytes(elf)
        binary.chmod(0o755)
        said = subprocess.run([binary, "version"], capture_output=True, text=True, check=False).stdout.strip()
    if said != version:
        missing.append(f"{BINARY} says version {said!r}, the wheel says {version!r}")
    return missing


def main(dist: Path) -> int:
    """Check the only wheel in a directory; the exit code."""
    wheels = sorted(dist.glob("*.whl"))
    found = [] if len(wheels) == 1 else [f"{dist} holds {len(wheels)} wheels instead of one"]
    for wheel in wheels:
        found += problems(wheel)
    for line in found:
        print(f"wheel: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
