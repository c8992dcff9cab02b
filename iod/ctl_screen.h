/* ctl_screen.h - a picture that is drawn over again and again, keys and signals; where standard
 * output is no terminal, pictures one below the other.
 *
 * There is one screen.  The terminal is as before after ctl_screen_close(), and after exit();
 * while the program is stopped (Ctrl-Z), too.
 */
#ifndef CTL_SCREEN_H
#define CTL_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

/* `plain`: as if output were no terminal. */
void ctl_screen_open(bool plain);

bool ctl_screen_is_live(void); /* drawn over */
bool ctl_screen_has_colours(void);
/* Of a line, and how many of them; 0: no limit. */
void ctl_screen_size(unsigned *columns, unsigned *lines);

/* Lines that end with '\n'; what there is no room for is left out. */
void ctl_screen_draw(const char *picture);

enum ctl_event {
    CTL_TIME,  /* it is `until` */
    CTL_READY, /* fd is readable */
    CTL_AGAIN, /* the size has changed, or the screen was somebody else's */
    CTL_QUIT,  /* q, Ctrl-C, or a signal to end */
};
/* `until` is of CLOCK_MONOTONIC, in ns. */
enum ctl_event ctl_screen_wait(int fd, uint64_t until);

/* The last picture stays.  Returns the signal to end by; 0: none, or Ctrl-C. */
int ctl_screen_close(void);

#endif
