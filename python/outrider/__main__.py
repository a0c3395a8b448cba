"""The command `outrider` (also `python -m outrider`): the package's own binary, for people."""

import os
import sys

from outrider._sidecar import find_binary


def main() -> None:
    """Becomes the binary, with this process's arguments.

    Raises:
        StartError: The package has none for this platform.
    """
    binary = find_binary()
    os.execv(binary, ["outrider", *sys.argv[1:]])


if __name__ == "__main__":
    main()
