/* The lightest cantilever beam that carries its load, in C: one process a study, a line in, a line out.
 *   cc -O2 -o beam beam.c -lm
 * Its material is a category, its two constraints are violations (<= 0 holds), its deflection is a hidden metric. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text behind "name": in a line of JSON; the names of this problem are not parts of one another. */
static const char *field(const char *line, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(line, key);
    return at ? at + strlen(key) : NULL;
}

int main(void) {
    char line[65536];
    while (fgets(line, sizeof line, stdin)) {
        const char *width = field(line, "width"), *height = field(line, "height"), *ribs = field(line, "ribs");
        const char *material = field(line, "material");
        if (!width || !height || !ribs || !material) {
            puts("{\"error\":\"the request lacks a parameter\"}");
            fflush(stdout);
            continue;
        }
        int steel = strncmp(material, "\"steel\"", 7) == 0;
        double b = strtod(width, NULL), h = strtod(height, NULL), n = strtod(ribs, NULL);
        double density = steel ? 7850 : 2700, stiffness = steel ? 210e9 : 70e9, strength = steel ? 250e6 : 200e6;
        double length = 2, load = 5000;
        double inertia = b * h * h * h / 12 * (1 + 0.05 * n);
        double weight = density * length * (b * h + 0.0005 * n);
        double stress = load * length * h / 2 / inertia;
        double deflection = load * length * length * length / (3 * stiffness * inertia);
        printf("{\"value\":%.17g,\"violations\":[%.17g,%.17g],\"metrics\":{\"deflection\":%.17g}}\n", weight,
               stress / strength - 1, deflection / 0.01 - 1, deflection);
        fflush(stdout); /* a line is an answer only when it has left the process */
    }
    return 0;
}
