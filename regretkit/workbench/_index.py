"""Which results tasks have, told by texts and sources, so that no game is built to find out.

What determines a result is known once its game is built and its rule is traced. Where the text of
the game, the expression of the algorithm and all sources are the same, the result is too.
"""

import hashlib
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import final

from attrs import define, field

from regretkit.games._registry import _FACTORIES, OPENSPIEL
from regretkit.trace._snapshot import is_own
from regretkit.workbench._pool import Entry
from regretkit.workbench._results import digest, find_run, key_of
from regretkit.workbench._tasks import Outcome, Task, versions

NAME = "index"
"""The file in a results folder: a line for each task, with its place and the key of its result."""
_LINE = re.compile(r"([0-9a-f]{32}) ([0-9a-f]{32})")
_INPUT = re.compile(rb"environ|getenv|(?:open|load\w*|\w*read\w*|fromfile|genfromtxt|memmap)\(")
"""What sources have in them that may depend on something else."""


@final
@define(eq=False)
class Index:
    """The results that tasks are known to have, in a file of their folder."""

    folder: Path
    here: bool
    """Whether tasks are carried out in this process, whose modules may be older than files."""
    _open: list[tuple[Entry, Task, str]] = field(factory=list, init=False)

    def find(self, entries: Sequence[Entry]) -> list[Entry]:
        """Finish the entries whose results are known, and return the others."""
        known: dict[str, str] = {}
        with suppress(OSError, ValueError):
            lines = (self.folder / NAME).read_text().splitlines()
            known = {found[1]: found[2] for found in map(_LINE.fullmatch, lines) if found}
        own = None if self.here else _own_sources()
        for entry in entries:
            place = _place(entry.task, own)
            columns = find_run(self.folder, known[place]) if place in known else None
            if columns is not None:
                entry.finish(Outcome(entry.task.result(columns), was_found=True))
            elif place is not None:
                self._open.append((entry, entry.task, place))
        return [entry for entry in entries if entry.outcome is None]

    def note(self) -> None:
        """Write down which results have been found or computed since."""
        done = [case for case in self._open if case[0].outcome is not None]
        if not done:
            return
        self._open = [case for case in self._open if case[0].outcome is None]
        own, lines = None if self.here else _own_sources(), ""
        for entry, task, place in done:
            # A rule that was edited meanwhile may be either one, and a tree may fit another time.
            same = entry.task is task and _place(task, own) == place
            if same and entry.outcome is not None and entry.outcome.identity:
                lines += f"{place} {key_of(entry.outcome.identity)}\n"
        with suppress(OSError), (self.folder / NAME).open("a") as file:
            file.write(lines)


def _place(task: Task, own: str | None) -> str | None:
    """Return what stands for all that the result of a task depends on, None if that is unknown."""
    if not isinstance(task.game, str) or not isinstance(task.algorithm, str):
        return None
    made = _FACTORIES.get(task.game.partition("(")[0].strip())
    mine = ":" in task.algorithm or (made is not None and is_own(made.__module__))
    if mine and own is None:
        return None
    try:
        content = _content(task.game) if made is None and not task.lacks_tree else ""
    except OSError:
        return None
    given = task.algorithm, task.seed, task.iterations, task.measures, task.sampling
    return digest([task.game, content, own if mine else "", *given, _library(), versions()])


def _content(game: str) -> str:
    """Return what identifies a file, or a game of another program."""
    if game.startswith(OPENSPIEL):
        return version("open_spiel")
    return hashlib.sha256(Path(game).read_bytes()).hexdigest()


@cache
def _library() -> str:
    return _digest_of(Path(__file__).parents[1].rglob("*.py"))


def _own_sources() -> str | None:
    """Return what identifies the user's sources, None where they may depend on other things."""
    main, modules = sys.modules["__main__"], [*sys.modules.items()]  # which has two names
    own = [module for name, module in modules if module is not main and is_own(name)]
    paths = [Path(file) for module in own if (file := getattr(module, "__file__", None))]
    files = {file for file in paths if not {"site-packages", "dist-packages"} & {*file.parts}}
    with suppress(OSError):
        if not any(_INPUT.search(file.read_bytes()) for file in files):
            beside = (
                path for file in files for path in file.parent.glob("*.py")
            )  # may be imported
            return _digest_of({*files, *beside})
    return None


def _digest_of(files: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in sorted(files):
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()
