"""A module per library; `optarena.optimizer` finds them."""
