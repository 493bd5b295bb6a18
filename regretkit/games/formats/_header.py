"""What both formats have in common: their first line, lists of names, lists of payoffs."""

from typing import NamedTuple

from regretkit.games.formats._scanner import Scanner


class Header(NamedTuple):
    """What a file says before its game begins."""

    title: str | None
    players: int


def header(scanner: Scanner, kind: str, version: str) -> Header:
    """Read the format, its version, the type of numbers, the title and the players' names."""
    scanner.word((kind,), f"{kind}, with which such a file begins")
    scanner.word((version,), f"{version}, the version of the format")
    scanner.word(("R", "D"), "R or D, the type of the numbers")
    title = scanner.name("the title")
    scanner.symbol("{", "before the names of the players")
    start = scanner.skip_space()
    players = names(scanner, "the name of a player")
    if not players:
        raise scanner.fault("a game needs at least one player; name it here", start)
    return Header(title or None, len(players))


def comment(scanner: Scanner) -> None:
    """Read the comment, if there is one; it says nothing about the game."""
    if scanner.comes('"'):
        scanner.name("the comment")


def names(scanner: Scanner, wanted: str) -> tuple[str, ...]:
    """Read names up to a closing brace."""
    found = []
    while not scanner.take("}"):
        if not scanner.comes('"'):
            raise scanner.unexpected(f"{wanted}, in quotation marks, or '}}'")
        found.append(scanner.name(wanted))
    return tuple(found)


def numbered(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return names, with its number, from 1, for each that is empty."""
    if all(labels):
        return labels
    return tuple(label or str(number) for number, label in enumerate(labels, start=1))


def payoffs(scanner: Scanner, players: int) -> list[float]:
    """Read the payoffs of all players up to a closing brace, each perhaps with a comma behind."""
    paid = []
    for player in range(1, players + 1):
        paid.append(scanner.number(f"the payoff of player {player}"))
        scanner.take(",")
    scanner.symbol("}", f"after the payoffs of {players} players")
    return paid
