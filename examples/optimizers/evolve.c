/* A (1+1) evolution strategy in C, as an optimizer of optarena: docs/protocol.md says what the lines mean.
 *
 *   cc -O2 -o evolve evolve.c -lm
 *   optarena run -o evolve.toml -o RandomSearch -p functions/sphere/d5 -n 200 -r 5
 *
 * It takes reals only ("mixed": false), so that a point is a list of numbers. Requests have no spaces and begin with
 * {"id":N,"call":"..."; that is all that must be known to read them without a JSON library. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int dimension, started;
static double *low, *high, *best, best_value, step, growth;
static uint64_t state;

static double uniform(void) { /* splitmix64: the same numbers on every machine */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static double normal(void) {
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* The text behind a key. Quotes within names are escaped, so that "key": is the key. */
static char *find(char *line, const char *key) {
    char *at = strstr(line, key);
    return at ? at + strlen(key) : NULL;
}

/* The next number; infinities and NaN come as the texts "inf", "-inf" and "nan", which strtod knows. */
static double number(char **at) {
    *at += strcspn(*at, "-0123456789in");
    return strtod(*at, at);
}

static void start(char *line) {
    dimension = 0;
    started = 0;
    for (char *at = line; (at = find(at, "\"range\":[")); dimension++) {
        low = realloc(low, (dimension + 1) * sizeof *low);
        high = realloc(high, (dimension + 1) * sizeof *high);
        low[dimension] = number(&at);
        high[dimension] = number(&at);
    }
    best = realloc(best, dimension * sizeof *best);
    state = (uint64_t)strtoull(find(line, "\"seed\":"), NULL, 10);
    step = 0.3;
    growth = strtod(find(line, "\"growth\":"), NULL);
}

static void suggest(int n) {
    for (int k = 0; k < n; k++) {
        printf(k ? ",[" : "[");
        for (int i = 0; i < dimension; i++) {
            double width = high[i] - low[i];
            double x = started ? best[i] + step * width * normal() : low[i] + width * uniform();
            x = x < low[i] ? low[i] : x > high[i] ? high[i] : x;
            printf(i ? ",%.17g" : "%.17g", x);
        }
        printf("]");
    }
}

static void observe(char *line) {
    char *point = find(line, "\"points\":"), *value = find(line, "\"values\":");
    while (*(value += strspn(value, "[],")) == '"' || strchr("-0123456789", *value)) {
        double y = number(&value);
        int better = !isnan(y) && (!started || y <= best_value); /* NaN: the evaluation failed */
        value += *value == '"';
        for (int i = 0; i < dimension; i++) {
            double coordinate = number(&point);
            if (better)
                best[i] = coordinate;
        }
        if (started) /* one success in five keeps the step */
            step *= better ? growth : pow(growth, -0.25);
        if (better) {
            best_value = y;
            started = 1;
        }
    }
}

int main(void) {
    char *line = NULL, call[16];
    size_t size = 0;
    long id;
    while (getline(&line, &size, stdin) > 0) {
        if (sscanf(line, "{\"id\":%ld,\"call\":\"%15[a-z]\"", &id, call) != 2)
            return 1;
        if (!strcmp(call, "close"))
            return 0;
        printf("{\"id\":%ld", id);
        if (!strcmp(call, "hello")) {
            printf(",\"protocol\":1,\"name\":\"evolve\",\"version\":\"1\",\"capabilities\":{\"mixed\":false}");
        } else if (!strcmp(call, "start")) {
            start(line);
        } else if (!strcmp(call, "suggest")) {
            printf(",\"points\":[");
            suggest(atoi(find(line, "\"n\":")));
            printf("]");
        } else {
            observe(line);
        }
        printf("}\n");
        fflush(stdout); /* else the answer stays in a buffer, and both wait for ever */
    }
    return 0;
}
