#!/bin/sh
# A random search in a box that shrinks around the best point, in POSIX shell and awk, as an optimizer of optarena
# (docs/protocol.md). A process of awk per request: slow (milliseconds), but it shows how little is needed.
best= value= count=0

# field KEY: the text behind a key, up to the next comma or brace (numbers only)
field() { printf '%s\n' "$line" | sed -n "s/.*\"$1\":\([^],}]*\).*/\1/p"; }

while IFS= read -r line; do
    id=${line#'{"id":'} id=${id%%,*}
    case $line in
    *'"call":"hello"'*)
        echo "{\"id\":$id,\"protocol\":1,\"name\":\"shrink\",\"capabilities\":{\"mixed\":false}}" ;;
    *'"call":"start"'*)
        seed=$(field seed) rate=$(field rate) best= value= count=0
        # "low high" of each parameter, one per line
        ranges=$(printf '%s\n' "$line" | grep -o '"range":\[[^]]*\]' | sed 's/.*\[\(.*\),\(.*\)\]/\1 \2/')
        echo "{\"id\":$id}" ;;
    *'"call":"suggest"'*)
        count=$((count + 1))
        points=$(printf '%s\n' "$ranges" | awk -v n="$(field n)" -v best="$best" -v rate="$rate" \
            -v seed="$(((seed + count * 7919) % 2147483647))" '
            { low[NR] = $1; high[NR] = $2 }
            END {
                srand(seed); rand(); split(best, at, ",")
                width = best == "" ? 1 : exp(-rate * '"$count"')
                for (k = 1; k <= n; k++) {
                    printf "%s", (k > 1 ? ",[" : "[")
                    for (i = 1; i <= NR; i++) {
                        x = low[i] + (high[i] - low[i]) * rand()
                        if (best != "") x = at[i] + width * (x - (low[i] + high[i]) / 2)
                        if (x < low[i]) x = low[i]
                        if (x > high[i]) x = high[i]
                        printf (i > 1 ? ",%.17g" : "%.17g"), x
                    }
                    printf "]"
                }
            }')
        echo "{\"id\":$id,\"points\":[$points]}" ;;
    *'"call":"observe"'*)
        # the better of the best so far and each point: "value point", NaN and infinite values left out
        points=${line#*'"points":[['} points=${points%%']]'*}
        values=${line#*'"values":[['} values=${values%%']]'*}
        found=$(awk -v p="$points" -v v="$values" -v best="$best" -v value="$value" 'BEGIN {
            gsub(/\],\[/, ";", p); gsub(/\],\[/, ";", v); n = split(p, points, ";"); split(v, values, ";")
            for (k = 1; k <= n; k++)
                if (values[k] !~ /"/ && (best == "" || values[k] + 0 < value + 0)) { best = points[k]; value = values[k] }
            print value, best
        }')
        value=${found%% *} best=${found#* }
        echo "{\"id\":$id}" ;;
    *)
        exit 0 ;;
    esac
done
