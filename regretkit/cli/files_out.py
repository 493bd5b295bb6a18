"""Files that a command is to write: refused before the work, and written after it."""

import os
from collections.abc import Callable
from pathlib import Path

from regretkit.cli.exits import Refusal, failing
from regretkit.games import Profile

STRATEGIES = (".json", ".csv")
GAMES = (".efg", ".nfg")
TABLES = (".csv",)
DRAWINGS = (".svg",)
FIGURES = (".svg", ".pdf", ".png")


def checked(path: str | None, argument: str, endings: tuple[str, ...] = ()) -> Path | None:
    """Return where to write, or refuse at once what could not be written hours later."""
    if path is None:
        return None
    file = Path(path)
    if endings and file.suffix.lower() not in endings:
        wanted = " or ".join(endings)
        raise Refusal(f"{argument}: the name of the file must end in {wanted}, got {path!r}")
    if file.is_dir():
        raise Refusal(f"{argument}: {path!r} is a folder; name a file")
    if not file.parent.is_dir():
        raise Refusal(f"{argument}: there is no folder {str(file.parent)!r}; make it first")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise Refusal(f"{argument}: {path!r} cannot be written; choose another place")
    return file


def write_strategy(profile: Profile, path: Path | None) -> None:
    """Write a strategy as the name of the file says."""
    if path is None:
        return
    write: Callable[[Path], None]
    write = profile.to_json if path.suffix.lower() == ".json" else profile.to_csv
    with failing(f"cannot write the strategy to {str(path)!r}"):
        write(path)
