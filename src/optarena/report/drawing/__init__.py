"""Altair charts of tables that are already computed, a module per view; drawing computes nothing."""
