/* iod_process.c - the daemon as a process: background, log file, pid file. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "iod_process.h"
#include "zc_fd.h"
#include "zc_log.h"
#include "zc_process.h"

static int ready_fd = -1; /* write end of the pipe that the parent waits on */
static int log_fd = -1;
static const char *log_path;
static bool log_to_syslog;

/* ---- background ---- */

static void wait_for_child(pid_t child, int fd) __attribute__((noreturn));
static void wait_for_child(pid_t child, int fd)
{
    int status = 0;
    ssize_t n;
    char c;

    while ((n = read(fd, &c, 1)) < 0 && errno == EINTR)
        ;
    if (n == 1)
        _exit(0);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        fprintf(stderr, "zcached: ended by signal %d before it was ready\n", WTERMSIG(status));
    _exit(WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1);
}

/* Closes inherited descriptors, which would stay open as long as the daemon runs: a pipe that
 * another process reads to its end, a lock. */
static void close_inherited(void)
{
#ifdef SYS_close_range
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
#endif
}

int iod_process_daemonize(void)
{
    int fds[2];
    pid_t pid;

    close_inherited();
    if (pipe2(fds, O_CLOEXEC) < 0)
        return zc_errorf(errno, "--daemonize: cannot make a pipe: %s", strerror(errno));
    pid = fork();
    if (pid < 0) {
        int err = errno;

        close(fds[0]);
        close(fds[1]);
        return zc_errorf(err, "--daemonize: cannot fork: %s", strerror(err));
    }
    if (pid > 0) {
        close(fds[1]);
        wait_for_child(pid, fds[0]);
    }
    close(fds[0]);
    ready_fd = fds[1];
    setsid();
    if (chdir("/") < 0) /* so that no file system is kept busy */
        return zc_errorf(errno, "--daemonize: cannot enter /: %s", strerror(errno));
    return 0;
}

void iod_process_ready(void)
{
    int fd;

    if (log_to_syslog)
        zc_log_to_syslog();
    else if (log_fd >= 0)
        zc_log_to_fd(log_fd);
    if (ready_fd < 0)
        return;
    fd = zc_fd(open("/dev/null", O_RDWR | O_CLOEXEC));
    if (fd >= 0) {
        dup2(fd, STDIN_FILENO);
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        if (fd > STDERR_FILENO)
            close(fd);
    }
    while (write(ready_fd, "r", 1) < 0 && errno == EINTR)
        ;
    close(ready_fd);
    ready_fd = -1;
}

/* ---- permissions ---- */

static mode_t own_umask;

void iod_process_take_umask(void)
{
    own_umask = umask(0);
}

/* ---- log file ---- */

static int open_log(const char *path)
{
    /* It names files of all users of the daemon. */
    int fd =
        zc_fd(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0640 & ~own_umask));

    return fd < 0 ? zc_errorf(errno, "--log-file: cannot open %s: %s", path, strerror(errno)) : fd;
}

int iod_process_open_log(const char *path)
{
    int fd;

    log_to_syslog = strcmp(path, "syslog") == 0;
    if (log_to_syslog)
        return 0;
    fd = open_log(path);
    if (fd < 0)
        return fd;
    log_fd = fd;
    log_path = path;
    return 0;
}

/* Keeps the number of the descriptor, as other threads may be writing to it. */
void iod_process_reopen_log(void)
{
    int fd;

    if (!log_path)
        return;
    fd = open_log(log_path);
    if (fd < 0) {
        zc_error("%s; messages still go to the old file", zc_error_text(fd));
        return;
    }
    dup3(fd, log_fd, O_CLOEXEC);
    close(fd);
    zc_info("log file reopened");
}

/* ---- pid file ---- */

/* Returns the pid in the file; 0: there is none. */
static long read_pid(const char *path)
{
    FILE *f = zc_fopen(path, "re");
    long pid = 0;

    if (!f)
        return 0;
    if (fscanf(f, "%ld", &pid) != 1 || pid < 0)
        pid = 0;
    fclose(f);
    return pid;
}

int iod_process_write_pid(const char *path)
{
    long old = read_pid(path);
    FILE *f;
    int fd;

    if (old && old != getpid() && zc_process_kind(old) == ZC_PROCESS_ZCACHED)
        return zc_errorf(EBUSY,
                         "--pid-file: %s belongs to zcached %ld, which is running; stop it (kill "
                         "%ld) or choose another name",
                         path, old, old);
    fd = zc_fd(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666 & ~own_umask));
    f = fd < 0 ? NULL : fdopen(fd, "we");
    if (!f)
        return zc_errorf(errno, "--pid-file: cannot write %s: %s", path, strerror(errno));
    fprintf(f, "%ld\n", (long)getpid());
    if (fclose(f))
        return zc_errorf(errno, "--pid-file: cannot write %s: %s", path, strerror(errno));
    return 0;
}

void iod_process_remove_pid(const char *path)
{
    if (path && read_pid(path) == getpid())
        unlink(path);
}

/* ---- limits ---- */

void iod_process_drop_powers(void)
{
    const uint32_t ours[] = {CAP_FSETID, CAP_SYS_RESOURCE};
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
    long rc = syscall(SYS_capget, &head, caps);

    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        caps[CAP_TO_INDEX(ours[i])].effective &= ~CAP_TO_MASK(ours[i]);
        caps[CAP_TO_INDEX(ours[i])].permitted &= ~CAP_TO_MASK(ours[i]);
    }
    if (rc < 0 || syscall(SYS_capset, &head, caps) < 0)
        zc_warn("cannot drop capabilities: %s; what users write may pass their quotas",
                strerror(errno));
}

/* Of the processor time `all`, how many seconds a cache of that size is left to be written back in:
 * 300 MiB took less than 1 s, 2,300 MiB more, on a slow machine with checksums. */
static rlim_t last_seconds(rlim_t all, uint64_t cache_bytes)
{
    rlim_t need = 1 + 2 * (rlim_t)(cache_bytes >> 30), part = all / 20;

    if (need < part)
        need = part;
    return need < all / 2 ? need : all / 2;
}

void iod_process_raise_limits(uint64_t cache_bytes)
{
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
        l.rlim_cur = l.rlim_max;
        setrlimit(RLIMIT_NOFILE, &l);
    }
    if (getrlimit(RLIMIT_CPU, &l) == 0 && l.rlim_max > 1) {
        l.rlim_cur = l.rlim_max;
        if (l.rlim_max != RLIM_INFINITY) /* where SIGKILL comes */
            l.rlim_cur -= last_seconds(l.rlim_max, cache_bytes);
        setrlimit(RLIMIT_CPU, &l);
    }
}
