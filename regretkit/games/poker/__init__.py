"""No-limit hold'em endgames: cards, ranges, bets, and the games made of them."""
