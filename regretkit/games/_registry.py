"""Games by name, and games in files."""

import ast
import inspect
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from regretkit._util._files import replace_file
from regretkit._util._validate import did_you_mean, must_be, quote
from regretkit.games._game import Game
from regretkit.games._memory_budget import PLAY_BY_RULES
from regretkit.games._normal_form import NormalFormGame
from regretkit.games.formats._efg import ExtensiveForm, parse_efg, write_efg
from regretkit.games.formats._nfg import parse_nfg, write_nfg
from regretkit.games.formats._tokens import Tokens
from regretkit.games.tree._history import History
from regretkit.games.tree._rules import Rules

OPENSPIEL = "openspiel:"
"""Prefix of the names of OpenSpiel's games."""
_NAMED = "named by a string such as 'kuhn_poker(deck=5)'"
_FILES = (".efg", ".nfg")
"""Endings of the names of game files."""

_FACTORIES: dict[str, Callable[..., Game]] = {}
_RULES: dict[str, Callable[..., Rules]] = {}
"""Classes of rules by name, with the same arguments as the factories."""

Factory = TypeVar("Factory", bound=Callable[..., Game])
Made = TypeVar("Made")


def register(factory: Factory) -> Factory:
    """Register a function that returns a game, so that ``load`` finds it by its name.

    Its arguments should be literals and have defaults. Registering a different function of the
    same name raises a ValueError.

    Examples
    --------
    >>> from regretkit.games import matrix_game
    >>> @register
    ... def unfair_pennies(stake: float = 2.0) -> Game:
    ...     return matrix_game([[stake, -1.0], [-1.0, 1.0]])
    >>> load("unfair_pennies(stake=3)").domains
    (Simplices(2), Simplices(2))
    """
    name = factory.__name__
    if factory is _FACTORIES.get(name):
        return factory
    known = _FACTORIES.setdefault(name, factory)
    # Allow redefinition: notebook cells and reloaded modules define the same function again.
    if (known.__module__, known.__qualname__) != (factory.__module__, factory.__qualname__):
        raise ValueError(
            f"game {quote(name)} is already registered by {known.__module__}; rename the function"
        )
    _FACTORIES[name] = factory
    return factory


def register_rules(rules: Any, factory: Factory) -> Factory:
    """Register a class of rules and the factory of its tree under ``rules.name``."""
    factory.__name__ = factory.__qualname__ = rules.name
    factory.__doc__, factory.__module__ = rules.__doc__, rules.__module__
    signature, types = inspect.signature(rules), get_type_hints(rules)
    fields = [each.replace(annotation=types[name]) for name, each in signature.parameters.items()]
    vars(factory)["__signature__"] = signature.replace(parameters=fields, return_annotation=Game)
    _RULES[rules.name] = rules
    return register(factory)


def names() -> tuple[str, ...]:
    """Return the names of all registered games, in alphabetical order.

    Examples
    --------
    >>> "kuhn_poker" in names()
    True
    """
    return tuple(sorted(_FACTORIES))


def load(text: str | PathLike[str]) -> Game:
    """Return a game by name, such as ``"kuhn_poker(deck=5)"``, or from a file.

    Parameters
    ----------
    text
        One of

        - a registered name, optionally with arguments in parentheses: literals such as ``3``,
          ``-0.5``, ``True`` or ``"a"``, which are parsed and never executed
        - a file in one of Gambit's formats: a ``pathlib.Path``, or a string that ends in ``.efg``
          or ``.nfg``, see ``read_efg`` and ``read_nfg``
        - ``openspiel:`` and the name of a game of OpenSpiel, see ``from_openspiel``

    Examples
    --------
    >>> load("kuhn_poker(players=3)").domains[2].points
    16
    >>> load("kuhn_poker(deck=5)")
    <kuhn_poker(deck=5): 10 + 10 information sets>
    """
    if isinstance(text, PathLike) or str(text).lower().endswith(_FILES):
        tokens = Tokens(Path(text).expanduser())
        if tokens.current not in {"EFG", "NFG"}:
            raise tokens.unexpected("EFG or NFG, with which a game file begins")
        return parse_efg(tokens) if tokens.current == "EFG" else parse_nfg(tokens)
    if not isinstance(text, str):
        raise TypeError(must_be("game", _NAMED, text))
    if text.startswith(OPENSPIEL):
        from regretkit.games.bridges._openspiel import from_openspiel

        return from_openspiel(text.removeprefix(OPENSPIEL).strip())
    name, positional, keywords = _parsed(text)
    if name in _RULES and name not in _FACTORIES:
        raise MemoryError(f"the tree of {name} is too large for any memory; {PLAY_BY_RULES}")
    return _found(_FACTORIES, name, keywords)(*positional, **keywords)


def load_rules(text: str) -> History | Rules:
    """Return the rules of a game by name, for play without its tree.

    Rules may describe games of any size. ``solve`` with sampling, ``Sampled``, ``play_match``,
    ``sampled_value`` and other functions take them. If the tree fits into memory, use ``load``,
    which makes gaps exact.

    Parameters
    ----------
    text
        A game of the catalogue as in ``load``: ``battleship``, ``dudo``, ``goofspiel``,
        ``kuhn_poker``, ``leduc_poker``, ``liars_dice``, ``oshi_zumo``, ``phantom_tic_tac_toe``,
        ``pursuit_evasion`` or ``sheriff``. Or ``openspiel:`` and the name of a game of OpenSpiel,
        see ``openspiel_history``.

    Examples
    --------
    >>> from regretkit.play import solve
    >>> solve(load_rules("battleship(height=6, width=6)"), sampling="outcome", iterations=1)
    <Sampled: 1 iterations, ... information sets>
    """
    if not isinstance(text, str):
        raise TypeError(must_be("game", _NAMED, text))
    if text.startswith(OPENSPIEL):
        from regretkit.games.bridges._openspiel_states import openspiel_history

        return openspiel_history(text.removeprefix(OPENSPIEL).strip())
    name, positional, keywords = _parsed(text)
    return _found(_RULES, name, keywords)(*positional, **keywords)


def _found(
    known: Mapping[str, Callable[..., Made]], name: str, options: Iterable[str]
) -> Callable[..., Made]:
    """Return the factory of a name, or raise if it does not take these options."""
    if name not in known:
        if name in _FACTORIES:
            raise ValueError(f"the game {quote(name)} has no rules; use load")
        hint = did_you_mean(name, known) or f"; the games are {', '.join(sorted(known))}"
        raise ValueError(f"there is no game {quote(name)}{hint}")
    accepted = inspect.signature(known[name]).parameters
    for option in options:
        if option not in accepted:
            hint = did_you_mean(option, accepted) or f": they are {', '.join(accepted) or 'none'}"
            raise ValueError(f"{name} has no option {quote(option)}{hint}")
    return known[name]


def save(
    game: NormalFormGame | ExtensiveForm, path: str | PathLike[str], *, for_gambit: bool = False
) -> None:
    """Write a game to a file in Gambit's format, which ``load`` reads.

    Parameters
    ----------
    game
        A game in normal form or in extensive form.
    path
        The file, with suffix ``.nfg`` for normal form and ``.efg`` for extensive form. An existing
        file is replaced atomically.
    for_gambit
        Whether to make the file readable for Gambit, as in ``write_efg`` and ``write_nfg``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from regretkit.games import kuhn_poker, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "kuhn.efg")
    ...     save(kuhn_poker(), path)
    ...     load(path)
    <kuhn_poker: 6 + 6 information sets>
    """
    path = Path(path)
    writers: dict[str, Callable[..., str]] = {".nfg": write_nfg, ".efg": write_efg}
    if path.suffix not in writers:
        raise ValueError(f"path must end in .nfg or .efg, got {quote(str(path))}")
    text = writers[path.suffix](game, for_gambit=for_gambit)
    replace_file(path, [text.encode()])


def call_text(factory: Callable[..., Any], **arguments: Any) -> str:
    """Return the text of a call for ``load``, without arguments equal to their defaults."""
    name, known = getattr(factory, "name", factory.__name__), inspect.signature(factory).parameters
    given = [f"{key}={value!r}" for key, value in arguments.items() if value != known[key].default]
    return f"{name}({', '.join(given)})" if given else name


def _parsed(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the name, the positional and the keyword arguments of a call."""
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if isinstance(call, ast.Name):
            return call.id, [], {}
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            keywords = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
            if len(keywords) == len(call.keywords):
                return call.func.id, list(map(ast.literal_eval, call.args)), keywords
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        pass
    hint = "write it as 'kuhn_poker(deck=5)', with literals"
    raise ValueError(f"{quote(text)} is not a game; {hint}")
