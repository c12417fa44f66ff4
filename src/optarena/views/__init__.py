"""Ways to score a store: traces in, tables out. A view never writes to a store."""
