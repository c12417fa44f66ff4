"""Stands in for `bayesmark.builtin_opt`: the wrappers that came with Bayesmark, with our optimizers behind them."""
