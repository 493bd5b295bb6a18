"""Nash equilibria and quantal responses of normal-form games, by the solvers of other packages."""

import importlib.util
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from regretkit._util._lazy_import import optional
from regretkit._util._typing import Vector
from regretkit._util._validate import must_be
from regretkit.evaluation._linear_programs import check_normal_form
from regretkit.games import NormalFormGame, Profile, to_pygambit

_ALIKE = 1e-8
"""Largest difference of probabilities between reports of one equilibrium."""


def nash_equilibria(game: NormalFormGame, *, solver: str | None = None) -> list[Profile]:
    """Return the Nash equilibria of a normal-form game, found by pygambit or nashpy.

    Of two players, all extreme equilibria: where there are infinitely many, each is a mixture of
    some of these. pygambit enumerates them in fractions, nashpy by the vertices of the
    best-response polytopes. Of more players, pygambit solves a system of polynomials for each
    support, which finds isolated equilibria. The time is exponential in the number of actions; for
    zero-sum games there is ``solve_zero_sum``.

    Parameters
    ----------
    game
        A game in normal form, of at least two players.
    solver
        ``"pygambit"`` or ``"nashpy"``, which is for two players; by default the one that is
        installed, the former of both.

    Raises
    ------
    ImportError
        When the solver is not installed, with the extra that installs it.

    Examples
    --------
    >>> from regretkit.games import battle_of_the_sexes
    >>> for profile in nash_equilibria(battle_of_the_sexes(), solver="nashpy"):
    ...     print(profile[0].round(3), profile[1].round(3))
    [0. 1.] [0. 1.]
    [0.6 0.4] [0.4 0.6]
    [1. 0.] [1. 0.]

    References
    ----------
    Avis, Rosenberg, Savani and von Stengel (2010), "Enumeration of Nash equilibria for two-player
    games", Economic Theory 42.
    """
    check_normal_form(game, "nash_conv says how far the average of a run is from one")
    if solver not in (None, "pygambit", "nashpy"):
        raise ValueError(must_be("solver", "'pygambit', 'nashpy' or None", solver))
    if game.players == 1 or (game.players > 2 and solver == "nashpy"):
        most = "two players" if solver == "nashpy" else "at least two players"
        raise ValueError(f"game must have {most}, got {game.players}")
    if solver is None:
        installed = importlib.util.find_spec("pygambit") is not None
        solver = "pygambit" if installed or game.players > 2 else "nashpy"
    found = _by_pygambit(game) if solver == "pygambit" else _by_nashpy(game)
    distinct: list[Vector] = []
    for equilibrium in found:
        if all(np.abs(equilibrium - other).max() > _ALIKE for other in distinct):
            distinct.append(equilibrium)
    return [_profile(game, probabilities) for probabilities in sorted(distinct, key=tuple)]


class QuantalResponse(NamedTuple):
    """A logit quantal response equilibrium.

    Examples
    --------
    >>> from regretkit.games import matching_pennies
    >>> game = matching_pennies()
    >>> QuantalResponse(0.0, Profile.uniform(game)).precision
    0.0
    """

    precision: float
    """The precision lambda, in units of 1 / payoff: 0 plays uniformly, infinity best responses."""
    profile: Profile


def quantal_response_path(game: NormalFormGame) -> list[QuantalResponse]:
    """Return logit quantal response equilibria from uniform play towards a Nash equilibrium.

    Each action is played in proportion to ``exp(precision * u)``, where u is its expected payoff
    against the others. pygambit traces the branch that begins at uniform play; in almost every
    game it ends in one Nash equilibrium.

    Parameters
    ----------
    game
        A game in normal form.

    Raises
    ------
    ImportError
        When pygambit is not installed.

    Examples
    --------
    >>> from regretkit.games import matching_pennies
    >>> path = quantal_response_path(matching_pennies())  # doctest: +SKIP
    >>> path[0].precision, path[0].profile[0]  # doctest: +SKIP
    (0.0, array([0.5, 0.5]))

    References
    ----------
    McKelvey and Palfrey (1995), "Quantal response equilibria for normal form games", Games and
    Economic Behavior 10(1). Turocy (2005), "A dynamic homotopy interpretation of the logistic
    quantal response equilibrium correspondence", Games and Economic Behavior 51(2).
    """
    check_normal_form(game)
    pygambit: Any = optional("pygambit", "gambit")
    branch = pygambit.qre.logit_solve_branch(to_pygambit(game))
    return [
        QuantalResponse(float(point.lam), _profile(game, _probabilities(point.profile)))
        for point in branch
    ]


def _by_pygambit(game: NormalFormGame) -> Iterable[Vector]:
    pygambit: Any = optional("pygambit", "gambit")
    solve = pygambit.nash.enummixed_solve if game.players == 2 else pygambit.nash.enumpoly_solve
    return [_probabilities(equilibrium) for equilibrium in solve(to_pygambit(game)).equilibria]


def _by_nashpy(game: NormalFormGame) -> Iterable[Vector]:
    nashpy: Any = optional("nashpy", "nashpy")
    return map(np.concatenate, nashpy.Game(*game.payoffs).vertex_enumeration())


def _probabilities(profile: Any) -> Vector:
    """Return the probabilities of all actions, those of player 0 first."""
    mixed = (profile[player] for player in profile.game.players)
    return np.array([float(probability) for strategy in mixed for _, probability in strategy])


def _profile(game: NormalFormGame, probabilities: Vector) -> Profile:
    ends = np.cumsum([domain.dimension for domain in game.domains])[:-1]
    vectors = (np.maximum(vector, 0.0) for vector in np.split(probabilities, ends))
    return Profile([vector / vector.sum() for vector in vectors], game.domains)
