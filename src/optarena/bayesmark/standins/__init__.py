"""What stands in for Bayesmark's modules while a wrapper that was written for it is loaded or called.

Loading and running them lives in `wrappers`.
"""
