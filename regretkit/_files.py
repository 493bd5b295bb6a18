"""Files that are whole at every instant: what was there before, until all of the new is."""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

FilePath: TypeAlias = str | os.PathLike[str]
"""Where a file is, as a text or a :class:`~pathlib.Path`."""

_LONGEST = 200
"""Characters of a file's name that its part is called after; systems take about 255."""


def replace_file(path: FilePath, chunks: Iterable[bytes | memoryview]) -> None:
    """Write ``chunks``, one behind the other, and let the file take the place of ``path``.

    They are written into another file of the same folder, brought to the disk, and only then take
    the name, which the system does in one stroke. Whoever is killed in between leaves the old
    file as it was, and beside it one whose name begins with a dot and ends in ``.part``.

    Raises
    ------
    OSError
        When it cannot be written; what was there is as it was.
    """
    target = Path(os.path.realpath(path))  # and not a link that points to it
    part = target.with_name(f".{target.name[:_LONGEST]}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _settle(target.parent)


def _settle(folder: Path) -> None:
    """Bring the names of a folder's files to the disk, where a system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
