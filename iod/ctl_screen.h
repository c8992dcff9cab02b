/* ctl_screen.h - the terminal of zcachectl top: redraws a picture in place, and waits for keys and
 * signals.  If standard output is no terminal, pictures follow each other.
 *
 * There is one screen.  ctl_screen_close() and exit() restore the terminal, and so does Ctrl-Z
 * while the program is stopped.
 */
#ifndef CTL_SCREEN_H
#define CTL_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

/* `plain`: as if standard output were no terminal. */
void ctl_screen_open(bool plain);

bool ctl_screen_is_live(void); /* pictures are redrawn in place */
bool ctl_screen_has_colours(void);
/* Returns the width of a line and the number of lines; 0: no limit. */
void ctl_screen_size(unsigned *columns, unsigned *lines);

/* Draws lines that end with '\n'; those that do not fit are left out. */
void ctl_screen_draw(const char *picture);

enum ctl_event {
    CTL_TIME,  /* the time `until` has come */
    CTL_READY, /* fd is readable */
    CTL_AGAIN, /* redraw: the size has changed, or another program had the terminal */
    CTL_QUIT,  /* q, Ctrl-C, or a signal to end */
};
/* Waits for the next event; `until`: ns of CLOCK_MONOTONIC. */
enum ctl_event ctl_screen_wait(int fd, uint64_t until);

/* Restores the terminal, and leaves the last picture on it.  Returns the signal that the process
 * has to end by; 0: none, or Ctrl-C. */
int ctl_screen_close(void);

#endif
