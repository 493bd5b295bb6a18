"""Games by name or from a file."""

import ast
import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import numpy as np

from regretkit._util._files import replace_file
from regretkit._util._validate import quote
from regretkit.games._efg import ExtensiveForm, parse_efg, write_efg
from regretkit.games._gambit_tokens import Tokens
from regretkit.games._game import Game
from regretkit.games._memory_budget import PLAY_BY_RULES, memory_capped
from regretkit.games._nfg import parse_nfg, write_nfg
from regretkit.games._normal_form import NormalFormGame
from regretkit.games.tree._history import History
from regretkit.games.tree._rules import Rules

OPENSPIEL = "openspiel:"
"""What stands before the name of a game of OpenSpiel."""
_FILES = (".efg", ".nfg")
"""Endings of the names of game files."""

_FACTORIES: dict[str, Callable[..., Game]] = {}
_RULES: dict[str, Callable[..., Rules]] = {}
"""By name, the classes of rules, with the same arguments."""

_LONGEST_NAME, _LARGEST_IN_NAME = 1_000, 10_000
"""Limits on the characters and on the integers in the name of a game in a file."""

Factory = TypeVar("Factory", bound=Callable[..., Game])
Made = TypeVar("Made")


def register(factory: Factory) -> Factory:
    """Register a function that returns a game, so that ``load`` finds it by its name.

    Its arguments should have defaults and be literals. A name that another function has already
    raises a ValueError.

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
    # A cell of a notebook or a module may run again and define the function anew.
    if (known.__module__, known.__qualname__) != (factory.__module__, factory.__qualname__):
        raise ValueError(
            f"there is a game called {quote(name)} already, from {known.__module__}; "
            "give the function another name"
        )
    _FACTORIES[name] = factory
    return factory


def register_rules(rules: Any, factory: Factory) -> Factory:
    """Register rules and the factory of their tree by their name; return the factory."""
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


def unknown_game(name: str) -> ValueError:
    """Return the error about a name that is not registered."""
    known = sorted({*names(), *_RULES})
    close = difflib.get_close_matches(name, known) or [n for n in known if name and name in n]
    hint = f"did you mean {' or '.join(close)}? The" if close else "the"
    hint = _file_advice(name) or f"{hint} games are {', '.join(known)}"
    return ValueError(f"there is no game {quote(name)}; {hint}")


def _file_advice(text: str) -> str:
    """Return what reads the file that was named in place of a game, if it is one."""
    with suppress(OSError, ValueError):  # of texts that are no path
        if Path(text).is_file():
            return (
                "the name of a game file ends in .efg or .nfg; play.resume continues a "
                "checkpoint, and Profile.from_json reads a strategy"
            )
        if files := [text + end for end in (".efg", ".nfg") if Path(text + end).is_file()]:
            return f"did you mean {quote(files[0])}?"
        if Path(text).name != text and "(" not in text:
            return "there is no such file, and the name of a game has no /"
    return ""


def load(
    text: str | PathLike[str],
    *arguments: object,
    memory_limit: float | None = None,
    **options: object,
) -> Game:
    """Return the game called ``text``, like ``"kuhn_poker(deck=5)"``, or the game in a file.

    Parameters
    ----------
    text
        A registered name, with arguments in parentheses if there are any: literals such as ``3``,
        ``-0.5``, ``True`` or ``"a"``; nothing is evaluated. Or a path to a file in one of
        Gambit's formats: a ``pathlib.Path``, or a string that ends in ``.efg`` or ``.nfg``.
        See ``read_efg`` and ``read_nfg``. Or the name of a game of OpenSpiel after
        ``openspiel:``, see ``from_openspiel``.
    arguments, options
        Arguments of the game called ``text``, in place of those in parentheses.
    memory_limit
        Largest number of bytes that building a game by name may take, by default all that are
        available.

    Raises
    ------
    TypeError
        When ``text`` is neither a string nor a path, or an argument has the wrong type.
    OSError
        When the file cannot be read.
    ValueError
        When ``text`` is no such call, no game has the name or it does not take the arguments, or
        the file holds no game, with the line and the column of the error.
    MemoryError
        When the game does not fit into memory.

    Examples
    --------
    >>> load("kuhn_poker(players=3)").domains[2].points
    16
    >>> load("kuhn_poker", deck=5)
    <kuhn_poker(deck=5): 10 + 10 information sets>
    """
    text = _with_arguments(text, arguments, options)
    if isinstance(text, PathLike) or str(text).lower().endswith(_FILES):
        tokens = Tokens(Path(text).expanduser())
        if tokens.current not in {"EFG", "NFG"}:
            raise tokens.unexpected("EFG or NFG, with which a game file begins")
        return parse_efg(tokens) if tokens.current == "EFG" else parse_nfg(tokens)
    if str(text).startswith(OPENSPIEL):
        from regretkit.games._openspiel_tree import from_openspiel

        return from_openspiel(str(text).removeprefix(OPENSPIEL).strip(), memory_limit=memory_limit)
    name = _parsed(text)[0]
    if name in _RULES and name not in _FACTORIES:
        raise MemoryError(f"no memory holds the tree of {name}; {PLAY_BY_RULES}")
    build = _checked_call(_FACTORIES, text)
    with memory_capped(memory_limit):
        return build()


def _with_arguments(text: Any, arguments: Iterable[object], options: Mapping[str, object]) -> Any:
    """Return the call of a name with these arguments; the name itself where there are none."""
    given = [*map(repr, arguments), *(f"{name}={value!r}" for name, value in options.items())]
    return f"{text}({', '.join(given)})" if given else text


def load_rules(text: str, *arguments: object, **options: object) -> History | Rules:
    """Return the rules of the game called ``text``, for play without its tree.

    A game of any size can be played so: by ``solve`` with samples, ``Sampled``, ``play_match``,
    ``sampled_value``, and all else that takes rules. Where the tree fits into memory, ``load`` is
    better: with it gaps are exact.

    Parameters
    ----------
    text
        A game of the catalogue as in ``load``: ``battleship``, ``dudo``, ``goofspiel``,
        ``kuhn_poker``, ``leduc_poker``, ``liars_dice``, ``oshi_zumo``, ``pursuit_evasion``,
        ``sheriff``, and ``phantom_tic_tac_toe``, of which no tree fits; or ``openspiel:`` and a
        name, see ``openspiel_history``.
    arguments, options
        Arguments of the game called ``text``, in place of those in parentheses.

    Raises
    ------
    TypeError
        When ``text`` is no string, or an argument has the wrong type.
    ValueError
        When ``text`` is no such call, or there are no rules of this name.

    Examples
    --------
    >>> from regretkit.play import solve
    >>> solve(load_rules("battleship(height=6, width=6)"), sampling="outcome", iterations=1)
    <Sampled: 1 iterations, ... information sets>
    """
    text = _with_arguments(text, arguments, options)
    if str(text).startswith(OPENSPIEL):
        from regretkit.games._openspiel_states import openspiel_history

        return openspiel_history(text.removeprefix(OPENSPIEL).strip())
    if str(text).lower().endswith(_FILES):
        raise ValueError(f"{quote(text)} names a game file, which load reads, to its tree")
    return _checked_call(_RULES, text)()


def _checked_call(factories: Mapping[str, Callable[..., Made]], text: str) -> Callable[[], Made]:
    """Return the call that a text names, or refuse it."""
    name, positional, keywords = _parsed(text)
    if name in _FACTORIES and name not in factories:
        raise ValueError(
            f"of {name} there is only the tree, which load builds; the games with rules are "
            f"{', '.join(sorted(_RULES))}"
        )
    if name not in factories:
        raise unknown_game(name)
    factory = factories[name]
    signature = inspect.signature(factory)
    try:
        signature.bind(*positional, **keywords)
    except TypeError as error:
        shown = signature.replace(return_annotation=inspect.Signature.empty)
        raise ValueError(f"{quote(text)}: {error}; it is {name}{shown}") from error
    return partial(factory, *positional, **keywords)


def save(
    game: NormalFormGame | ExtensiveForm, path: str | PathLike[str], *, for_gambit: bool = False
) -> None:
    """Write a game to a file in Gambit's format, which ``load`` reads.

    Parameters
    ----------
    game
        The game, in the form that the file name asks for.
    path
        The file, which ends in ``.nfg`` for a game in normal form and in ``.efg`` for one in
        extensive form. An existing file is replaced atomically.
    for_gambit
        Whether to change what Gambit refuses, as ``write_efg`` does.

    Raises
    ------
    TypeError
        When the game does not have the form of the file name.
    OSError
        When the file cannot be written; an existing file is unchanged.
    ValueError
        When the file name has another ending.

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
    if hasattr(path, "domains"):
        raise TypeError(f"path must be the name of a file, got {quote(path)}; the game comes first")
    path = Path(path)
    writers: dict[str, Callable[..., str]] = {".nfg": write_nfg, ".efg": write_efg}
    if path.suffix not in writers:
        raise ValueError(f"path must end in .nfg or .efg, got {quote(str(path))}")
    text = writers[path.suffix](game, for_gambit=for_gambit)
    replace_file(path, [text.encode()])


def check_small(text: str) -> None:
    """Raise a ValueError if the name of a game has large or long arguments.

    With this check the name of a game in an untrusted file cannot make a factory compute for long
    before the size of the game is known.
    """
    if len(text) > _LONGEST_NAME:
        raise ValueError(f"the name has {len(text)} characters, more than {_LONGEST_NAME}")
    _parsed(text)
    for node in ast.walk(ast.parse(text.strip())):
        number = node.value if isinstance(node, ast.Constant) else None
        if isinstance(number, int) and number > _LARGEST_IN_NAME:
            raise ValueError(f"the name has the number {number}, larger than {_LARGEST_IN_NAME:,}")


def call_text(factory: Callable[..., Any], **arguments: Any) -> str:
    """Return a call as ``load`` reads it, without default arguments."""
    name, known = getattr(factory, "name", factory.__name__), inspect.signature(factory).parameters
    given = [f"{key}={value!r}" for key, value in arguments.items() if value != known[key].default]
    return f"{name}({', '.join(given)})" if given else name


def _parsed(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the name, the positional and the keyword arguments of a call."""
    if not isinstance(text, str):
        hint = "; it is a game already" if hasattr(text, "domains") else ""
        if hasattr(text, "new_initial_state"):
            hint = "; from_openspiel(game) reads a game of OpenSpiel"
        if type(text).__module__.startswith("pygambit"):
            hint = "; from_pygambit(game) reads a game of pygambit"
        if hasattr(text, "history_path"):
            hint = "; pass ExtensiveFormGame(tree)"
        if isinstance(text, np.ndarray | list | tuple):
            hint = "; pass matrix_game(A), or NormalFormGame(A, B)"
        raise TypeError(
            f"a game is named by a string such as 'kuhn_poker(deck=5)', got {quote(text)}{hint}"
        )
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _unreadable(text) from error
    if isinstance(call, ast.Name):
        return call.id, [], {}
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        raise _unreadable(text)
    positional = [_literal(node, text) for node in call.args]
    keywords: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in keywords:
            raise _unreadable(text)
        keywords[keyword.arg] = _literal(keyword.value, text)
    return call.func.id, positional, keywords


def _literal(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(
            f"the arguments in {quote(text)} must be literals such as 3, -0.5, True or 'a', "
            f"got {ast.get_source_segment(text.strip(), node)}"
        ) from error


def _unreadable(text: str) -> ValueError:
    plain = text.strip().lower().replace(" ", "_").replace("-", "_")
    if plain in _FACTORIES:
        return unknown_game(text)
    wanted = "write a name and literal arguments, each once, as in 'kuhn_poker(deck=5)'"
    if re.match("(open_?|py)spiel *:", plain):
        wanted = "a game of OpenSpiel is named as in 'openspiel:kuhn_poker'"
    return ValueError(f"cannot read {quote(text)}; {_file_advice(text) or wanted}")
