/* zc_option_distance.c - how much one name differs from another, for "did you mean". */
#include "config.h"

#include <string.h>

#include "zc_options.h"

/* row[j] is the distance of a's first i bytes to b's first j. */
size_t zc_option_distance(const char *a, const char *b)
{
    size_t row[ZC_OPTION_NAME_MAX];
    size_t n = strlen(b);

    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);

            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}
