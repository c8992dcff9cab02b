/* zc_locale.c - numbers as programs read them, whatever the locale of the program we are in. */
#include "config.h"

#include <pthread.h>
#include <stddef.h>

#include "zc_locale.h"

static locale_t c_locale; /* for ever */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t zc_locale_enter(void)
{
    pthread_once(&once, make);
    return uselocale(c_locale); /* 0, without memory for one: nothing changes */
}

void zc_locale_leave(locale_t before)
{
    uselocale(before);
}
