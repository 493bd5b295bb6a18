"""Base class, fields and tree factories for the rules of the catalogue."""

from collections.abc import Callable
from typing import Any, ParamSpec

import numpy as np
from attrs import Attribute, Converter, field

from regretkit._state import attrs_fields
from regretkit._util._typing import Indices
from regretkit._util._validate import must_be, number, whole_number
from regretkit._util._validate import truth as validate_truth
from regretkit.games._extensive_form import ExtensiveFormGame
from regretkit.games._registry import call_text, register_rules
from regretkit.games.tree._rules import Column, Rules

Arguments = ParamSpec("Arguments")


class NamedRules(Rules):
    """Rules with a name for ``load``. Its arguments, as in ``kuhn_poker(deck=4)``, are fields."""

    name = ""

    def __init_subclass__(cls, name: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.name = name or cls.name

    def __repr__(self) -> str:
        given = {each.name: getattr(self, each.name) for each in attrs_fields(type(self))}
        return call_text(type(self), **given)


def tree_factory(
    rules: Callable[Arguments, NamedRules],
) -> Callable[Arguments, ExtensiveFormGame]:
    """Register rules under their name, and return a function that builds their tree."""

    def build(*arguments: Arguments.args, **options: Arguments.kwargs) -> ExtensiveFormGame:
        made = rules(*arguments, **options)
        return ExtensiveFormGame.from_rules(made, name=repr(made))

    return register_rules(rules, build)


def _converted(convert: Callable[[Any, str], Any], default: Any) -> Any:
    def converted(value: Any, attribute: "Attribute[Any]") -> Any:
        return None if value is None and default is None else convert(value, attribute.name)

    return field(default=default, converter=Converter(converted, takes_field=True))


def whole(default: int | None, minimum: int, maximum: int | None = None) -> Any:
    """Return a field of whole numbers within bounds. It accepts None if that is the default."""
    return _converted(
        lambda value, name: whole_number(value, name, minimum=minimum, maximum=maximum), default
    )


def real(default: float, minimum: float | None = None) -> Any:
    """Return a field of finite numbers."""
    bound = {} if minimum is None else {"minimum": minimum}
    return _converted(lambda value, name: number(value, name, **bound), default)


def truth(default: bool) -> Any:
    """Return a field of truth values."""
    return field(default=default, validator=validate_truth)


def one_of(*options: str) -> Any:
    """Return a field for one of these strings, the first by default."""

    def convert(value: Any, name: str) -> str:
        if value not in options:
            raise ValueError(must_be(name, f"one of {', '.join(map(repr, options))}", value))
        return str(value)

    return _converted(convert, options[0])


def rows(h: Any) -> Indices:
    """Return the indices of the histories of a batch."""
    return np.arange(h.size)


def put(column: Column, place: int, values: Column) -> Column:
    """Return a copy of a column with these values at one place of its second axis."""
    changed = column.copy()
    changed[:, place] = values
    return changed


def digits(number: int, base: int) -> list[int]:
    """Return the digits of a number without its leading digit, which must be 1."""
    found: list[int] = []
    while number > 1:
        number, digit = divmod(number, base)
        found.insert(0, digit)
    return found
