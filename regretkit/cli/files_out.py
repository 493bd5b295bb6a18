"""Files that a command is to write: refused before the work, and written after it."""

from collections.abc import Callable
from pathlib import Path

from regretkit._util._files import check_target
from regretkit._util._validate import quote
from regretkit.cli.exits import Refusal, failing, refusing
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
        raise Refusal(f"{argument}: the name of the file must end in {wanted}, got {quote(path)}")
    with refusing(argument):
        check_target(path)
    return file


def write_strategy(profile: Profile, path: Path | None) -> None:
    """Write a strategy as the name of the file says."""
    if path is None:
        return
    write: Callable[[Path], None]
    write = profile.to_json if path.suffix.lower() == ".json" else profile.to_csv
    with failing(f"cannot write the strategy to {quote(str(path))}"):
        write(path)
