"""Correlated equilibria: gaps of play, optimal equilibria, mediators and teams."""
