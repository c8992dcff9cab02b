/* ctl_journal.h - zcachectl journal: journals of daemons that do not run, and what they have set
 * aside.
 */
#ifndef CTL_JOURNAL_H
#define CTL_JOURNAL_H

#include <stdbool.h>

struct ctl_journal {
    const char *action, *dir;
    bool json, force;
};

/* Returns whether the journal command has this action. */
bool ctl_journal_knows(const char *action);
/* Returns 0, or 1 if something is not done, which standard error says. */
int ctl_journal_run(const struct ctl_journal *c);

#endif
