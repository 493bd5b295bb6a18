"""The maps of external and of internal regret."""

import numpy as np

from regretkit._util._validate import whole_number
from regretkit.circuits._maps import FiniteDeviations


def constant_maps(actions: int) -> FiniteDeviations:
    """Return the maps that always play one action: regret against them is external regret.

    Parameters
    ----------
    actions
        Number of actions n, at least 1.

    Examples
    --------
    >>> constant_maps(3).matrices[1]
    array([[0., 1., 0.],
           [0., 1., 0.],
           [0., 1., 0.]])
    """
    whole_number(actions, "actions", least=1)
    matrices = np.zeros((actions, actions, actions))
    matrices[np.arange(actions), :, np.arange(actions)] = 1.0
    return FiniteDeviations(matrices)


def internal_maps(actions: int) -> FiniteDeviations:
    """Return the maps that play b wherever a was played, for each pair: internal regret.

    Parameters
    ----------
    actions
        Number of actions n, at least 2.

    Raises
    ------
    TypeError, ValueError
        When ``actions`` is not a whole number, at least 2.

    Examples
    --------
    >>> internal_maps(3).matrices[0]
    array([[0., 1., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])

    References
    ----------
    Stoltz and Lugosi (2005), "Internal regret in on-line portfolio selection", Machine Learning
    59.
    """
    whole_number(actions, "actions", least=2)
    pairs = [(a, b) for a in range(actions) for b in range(actions) if a != b]
    matrices = np.tile(np.eye(actions), (len(pairs), 1, 1))
    for number, (a, b) in enumerate(pairs):
        matrices[number, a] = np.eye(actions)[b]
    return FiniteDeviations(matrices)
