"""A module per suite; `optarena.problem` finds them."""
