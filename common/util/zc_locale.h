/* zc_locale.h - formats numbers independently of the program's locale.
 *
 * A locale with decimal commas would make invalid JSON, and log lines that scripts cannot parse.
 */
#ifndef ZC_LOCALE_H
#define ZC_LOCALE_H

#include <locale.h>

/* Makes this thread format and parse numbers in the C locale; returns the argument for
 * zc_locale_leave(). */
locale_t zc_locale_enter(void);
void zc_locale_leave(locale_t before);

#endif
