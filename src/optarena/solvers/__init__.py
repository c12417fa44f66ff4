"""Solvers: a module per library or program. Their contract and registry live in `optarena.solver`."""
