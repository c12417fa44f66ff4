#!/bin/sh
# Himmelblau's function in POSIX shell: one process an evaluation. A request comes on stdin:
#   {"evaluation":1,"parameters":{"x":1.5,"y":-2.0}}
# and the value goes to stdout. An exit code other than 0 is a failed evaluation.
read -r request || exit 1
field() { printf '%s\n' "$request" | sed -n "s/.*\"$1\": *\([-+0-9.eE]*\).*/\1/p"; }
x=$(field x) y=$(field y)
[ -n "$x" ] && [ -n "$y" ] || { echo "the request lacks x or y" >&2; exit 2; }
awk -v x="$x" -v y="$y" 'BEGIN { printf "%.17g\n", (x*x + y - 11)^2 + (x + y*y - 7)^2 }'
