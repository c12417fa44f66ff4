"""Two examples of each command, which its help shows."""

from __future__ import annotations

EXAMPLES = {
    "try": (
        "optarena try functions/branin/d2 -n 20",
        "optarena try mine.py:loss -n 50   # your own function",
    ),
    "run": (
        "optarena run -o RandomSearch -o QuasiRandom -p functions/sphere -n 20 -r 2",
        "optarena run -o QuasiRandom -p zdt/zdt1 -n '5*D' --seed 42 --store seeded",
    ),
    "jobs": (
        "optarena jobs -o QuasiRandom -p functions/sphere -n 20 -k 2 -O jobs.txt",
        "optarena jobs experiment.toml -k 50 -O jobs.txt --apart",
    ),
    "pilot": (
        "optarena pilot results 06007f25a310   # jobs.txt has the run's id",
        "optarena pilot results 06007f25a310 --number 2 --workers 4",
    ),
    "cancel": ("optarena cancel results", "optarena cancel /shared/results   # from any machine that sees it"),
    "status": ("optarena status results", "optarena status results --failed"),
    "best": ("optarena best results", "optarena best results --format json"),
    "score": ("optarena score results", "optarena score results --view fixed-target -d 2 -d 3"),
    "compare": ("optarena compare results", "optarena compare results RandomSearch QuasiRandom --details"),
    "figure": (
        "optarena figure convergence results -O convergence.svg",
        "optarena figure ecdf results --paper column -O ecdf.pdf",
    ),
    "paper": ("optarena paper coco results -O paper", "optarena paper coco results -d 2 -O paper-2"),
    "report": ("optarena report results", "optarena report results -p 'functions/sphere/*' -O sphere.html"),
    "serve": ("optarena serve results", "optarena serve results seeded --port 8800 --no-open"),
    "check": ("optarena check QuasiRandom", "optarena check 'functions/sphere/d{2,3}'"),
    "replay": (
        "optarena replay results 1a2b3c4d   # the beginning of an id",
        "optarena status results --studies   # has the ids",
    ),
    "compact": ("optarena compact results", "optarena compact seeded"),
    "verify": ("optarena verify results", "optarena verify seeded"),
    "repair": ("optarena repair results", "optarena repair seeded"),
    "merge": ("optarena merge results seeded -O both", "optarena merge results -O copy"),
    "publish": ("optarena publish results -O archive", "optarena verify archive   # sums, and 1 % run again"),
    "import": ("optarena import csv results.csv --store again", "optarena import parquet results.parquet"),
    "export": ("optarena export csv results -O results.csv", "optarena export parquet results -O results.parquet"),
    "bayesmark": (
        "optarena bayesmark launch -o RandomSearch -d iris -c kNN -m nll -n 3 -r 2",
        "optarena bayesmark init -b other",
    ),
    "list": ("optarena list optimizers", "optarena list problems 'functions/*/d2'"),
    "env": (
        "optarena env create Optuna-TPE mine.toml   # a name of ours, a manifest",
        "optarena env create 'Scalarised(optimizer=CMA-ES)'",
        "optarena env list",
        "optarena env list mine.toml   # every package in it",
        "optarena env remove mine.toml",
        "optarena env remove --all",
    ),
    "demo": ("optarena demo", "optarena demo --store mine"),
    "completion": (
        'eval "$(optarena completion bash)"',
        "optarena completion fish > optarena.fish   # in ~/.config/fish/completions",
    ),
}
"""They run in this order; `replay` needs an id, and `try` a file of one's own."""

BAYESMARK = {
    "launch": (
        "launch -o RandomSearch -d iris -c kNN -m nll -n 3 -r 2",
        "launch -o PySOT -d iris -c kNN -m nll -nj 50",
    ),
    "exp": (
        "exp -u UUID -b bo -o PySOT -d iris -c kNN -m nll",
        "exp -u UUID -b bo -o PySOT -d iris -c kNN -m nll --retry",
    ),
    "agg": ("agg -b bo", "agg -b bo -v   # names all that is missing"),
    "baseline": ("baseline -b bo", "baseline -dir databases -b bo"),
    "anal": ("anal -b bo", "anal -b bo -v   # with every note"),
    "init": ("init -b bo", "init -dir databases -b bo"),
}
"""Two examples of each command of `optarena bayesmark`, without the program's name. UUID: 32 digits, of a jobs file."""
