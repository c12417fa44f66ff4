"""Runs studies in this process, with its kernels: `python emulated.py STORE OPTIMIZER=PROBLEM ...`."""

import sys

import optarena as oa

ROOT = "7489654c-803c-453d-a1a8-691ab4d990c3"
EVALUATIONS = 12

if __name__ == "__main__":
    for pair in sys.argv[2:]:
        optimizer, problem = pair.split("=")
        oa.Experiment([optimizer], [problem], EVALUATIONS, seed=ROOT).run(sys.argv[1], workers=0)
