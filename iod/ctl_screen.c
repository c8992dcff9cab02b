/* ctl_screen.c - the terminal of zcachectl top: drawing, keys, signals.
 *
 * Signals are blocked except while ctl_screen_wait() waits; their handlers only set flags.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "ctl_screen.h"
#include "zc_lock.h"

/* Switch to the alternate screen, without a cursor, and back. */
#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"

static struct {
    bool live; /* pictures are redrawn in place */
    bool keys; /* keys are read */
    bool entered;
    bool deaf; /* standard input has ended */
    struct termios before;
    char *last;       /* picture */
    sigset_t waiting; /* mask while waiting */
} screen;

static volatile sig_atomic_t quit_by, resized, stop;

static void on_signal(int sig)
{
    if (sig == SIGWINCH)
        resized = 1;
    else if (sig == SIGTSTP)
        stop = 1;
    else
        quit_by = sig;
}

/* ---- the terminal ---- */

static void put(const char *s)
{
    fputs(s, stdout);
    fflush(stdout);
}

static void enter(void)
{
    struct termios t = screen.before;

    if (screen.keys) {
        t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        t.c_cc[VMIN] = 0;
        t.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSADRAIN, &t);
    }
    put(ENTER);
    screen.entered = true;
}

static void leave(void)
{
    if (!screen.entered)
        return;
    screen.entered = false;
    put(LEAVE);
    if (screen.keys)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &screen.before);
}

/* Ctrl-Z: restores the terminal until the program is continued. */
static void suspend(void)
{
    leave();
    raise(SIGSTOP);
    if (screen.keys) /* the shell may have changed it for good */
        tcgetattr(STDIN_FILENO, &screen.before);
    enter();
}

/* ---- opening ---- */

/* Handles a signal, unless it was ignored, as in a background job. */
static void take(int sig)
{
    struct sigaction a = {.sa_handler = on_signal}, was;
    sigset_t set;

    if (sigaction(sig, NULL, &was) < 0 || was.sa_handler == SIG_IGN)
        return;
    sigemptyset(&a.sa_mask);
    sigaction(sig, &a, NULL);
    sigemptyset(&set);
    sigaddset(&set, sig);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sigdelset(&screen.waiting, sig);
}

void ctl_screen_open(bool plain)
{
    const char *term = getenv("TERM");

    screen.live = !plain && isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
    screen.keys = screen.live && tcgetattr(STDIN_FILENO, &screen.before) == 0;
    screen.deaf = !screen.keys;
    pthread_sigmask(SIG_BLOCK, NULL, &screen.waiting);
    take(SIGINT);
    take(SIGTERM);
    take(SIGHUP);
    if (!screen.live)
        return;
    take(SIGWINCH);
    take(SIGTSTP);
    atexit(leave);
    enter();
}

bool ctl_screen_is_live(void)
{
    return screen.live;
}

/* https://no-color.org */
bool ctl_screen_has_colours(void)
{
    const char *no = getenv("NO_COLOR");

    return screen.live && !(no && *no);
}

void ctl_screen_size(unsigned *columns, unsigned *lines)
{
    struct winsize w;

    *columns = *lines = 0;
    if (!screen.live)
        return;
    *columns = 80;
    *lines = 24;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col && w.ws_row) {
        *columns = w.ws_col;
        *lines = w.ws_row;
    }
}

/* ---- drawing ---- */

static void draw_over(const char *p)
{
    unsigned columns, lines;

    ctl_screen_size(&columns, &lines);
    fputs("\033[H", stdout);
    for (unsigned i = 0; *p && i < lines; i++) {
        size_t n = strcspn(p, "\n");

        printf("%s%.*s\033[K", i ? "\n" : "", (int)n, p);
        p += n + (p[n] == '\n');
    }
    put("\033[J");
}

void ctl_screen_draw(const char *picture)
{
    if (!screen.live) {
        put(screen.last ? "\n" : "");
        put(picture);
    } else {
        draw_over(picture);
    }
    free(screen.last);
    screen.last = strdup(picture);
}

/* ---- waiting ---- */

/* Returns whether a key to quit was read. */
static bool read_keys(void)
{
    char keys[64];
    ssize_t n = read(STDIN_FILENO, keys, sizeof keys);

    if (n < 0 && errno == EINTR)
        return false;
    screen.deaf = n <= 0; /* it was said to be readable */
    for (ssize_t i = 0; i < n; i++)
        if (keys[i] == 'q' || keys[i] == 'Q')
            return true;
    return false;
}

/* Sets *t to the time left until then; false: that time has come. */
static bool time_until(uint64_t until, struct timespec *t)
{
    uint64_t now = zc_now();

    *t = (struct timespec){0};
    if (now >= until)
        return false;
    t->tv_sec = (time_t)((until - now) / 1000000000);
    t->tv_nsec = (long)((until - now) % 1000000000);
    return true;
}

enum ctl_event ctl_screen_wait(int fd, uint64_t until)
{
    struct pollfd p[2] = {{fd, POLLIN, 0}, {screen.deaf ? -1 : STDIN_FILENO, POLLIN, 0}};
    struct timespec t;

    time_until(until, &t);
    if (ppoll(p, 2, &t, &screen.waiting) < 0)
        p[0].revents = p[1].revents = 0;
    if (quit_by || (p[1].revents && read_keys()))
        return CTL_QUIT;
    if (stop) {
        stop = 0;
        suspend();
        return CTL_AGAIN;
    }
    if (resized) {
        resized = 0;
        return CTL_AGAIN;
    }
    if (p[0].revents)
        return CTL_READY;
    return time_until(until, &t) ? CTL_AGAIN : CTL_TIME;
}

int ctl_screen_close(void)
{
    if (screen.live) {
        leave();
        if (screen.last)
            put(screen.last);
    }
    free(screen.last);
    screen.last = NULL;
    return quit_by == SIGINT ? 0 : quit_by;
}
