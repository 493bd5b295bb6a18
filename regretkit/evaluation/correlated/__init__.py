"""Correlated equilibria: gaps, optimal equilibria, mediators and teams."""
