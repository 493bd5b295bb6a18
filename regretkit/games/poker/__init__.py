"""No-limit hold'em endgames: ranges, bet sizes and games."""

from regretkit.games.poker._cards import parse_range as parse_range
from regretkit.games.poker._cards import write_range as write_range
from regretkit.games.poker._hold_em import hold_em as hold_em
