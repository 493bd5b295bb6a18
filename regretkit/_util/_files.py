"""Atomic writes of files, and tables in CSV."""

import contextlib
import csv
import errno
import io
import os
import secrets
import stat
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from regretkit._util._lazy_import import optional

FilePath: TypeAlias = str | os.PathLike[str]
"""The path of a file, as a string or a ``pathlib.Path``."""

_IRREGULAR = "is a device or a pipe, not a regular file"


def replace_file(path: FilePath, chunks: Iterable[bytes | memoryview]) -> None:
    """Replace the content of ``path`` by the concatenated ``chunks``.

    The function writes and syncs a new file in the same folder, and then renames it, which is
    atomic. A killed process leaves the old file unchanged, and a file ``.NAME.part`` beside it. The
    new file has the permissions of the old one.
    """
    mode = check_target(path)
    target = Path(os.path.realpath(path))  # follow links
    # 50 characters are at most 200 bytes. Systems allow about 255.
    part = target.with_name(f".{target.name[:50]}.{secrets.token_hex(4)}.part")
    private = partial(os.open, mode=0o666 if mode is None else mode)
    try:
        with open(part, "xb", opener=private) as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            part.chmod(mode)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        # Sync the folder too. The file is complete, so errors are ignored.
        with contextlib.suppress(OSError):
            descriptor = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def read_file(path: FilePath) -> bytes:
    """Return the bytes of a regular file, not of a pipe or device, which may never end."""
    with open(path, "rb", opener=_open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, _IRREGULAR, os.fspath(path))
        return file.read()


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting for the writer of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def check_target(path: FilePath) -> int | None:
    """Check that a file can be written; return its permissions, None for a new file."""
    name = os.fspath(path)
    target = Path(os.path.realpath(name))
    if not target.parent.is_dir():
        problem = f"there is no folder {str(Path(name).parent)!r}; make it first"
        raise FileNotFoundError(errno.ENOENT, problem, name)
    try:
        mode = os.stat(name).st_mode  # noqa: PTH116 # errors show the name as it was passed
    except FileNotFoundError:
        mode = None
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder; name a file", name)
    if mode is not None and not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, _IRREGULAR, name)
    written = [target.parent] if mode is None else [target.parent, target]
    if not all(os.access(place, os.W_OK) for place in written):
        raise PermissionError(errno.EACCES, "cannot be written; choose another place", name)
    return None if mode is None else mode & 0o777


# Tables


def rows_to_csv(path: FilePath, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a table of dicts in CSV. Missing cells are empty.

    Strings that a spreadsheet would evaluate as formulas get a leading apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row.get(column)) for column in columns] for row in rows)
    replace_file(path, [text.getvalue().encode(errors="backslashreplace")])


def rows_to_dataframe(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return a table of dicts as a pandas ``DataFrame``."""
    pandas: Any = optional("pandas", "pandas")
    return pandas.DataFrame(list(rows), columns=list(columns))


def _cell(value: object) -> object:
    formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@"))
    return f"'{value}" if formula else value
