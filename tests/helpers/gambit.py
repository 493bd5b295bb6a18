"""What pygambit 16 and 17 call differently."""


def values(profile):
    """Return the players' expected payoffs under a mixed profile of pygambit."""
    payoff = profile.payoffs.__getitem__ if hasattr(profile, "payoffs") else profile.payoff
    return [float(payoff(player)) for player in profile.game.players]
