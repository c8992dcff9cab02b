/* test_fd.c - descriptors that are never 0, 1 or 2, whichever of those are closed. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_fd.h"
#include "zc_log.h"

static void close_subset(int bits)
{
    for (int fd = 0; fd <= 2; fd++)
        if (bits >> fd & 1)
            close(fd);
}

static bool can_write(int fd)
{
    return write(fd, "x", 1) == 1;
}

/* In a child, for Check needs its own; 0: all is as it should be, or a line number. */
#define NEED(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond))                                                                               \
            _exit(__LINE__ % 256);                                                                 \
    } while (0)

static void all_above(int bits, const char *path)
{
    int fd[4];
    FILE *f;
    DIR *d;

    close_subset(bits);
    for (int i = 0; i < 4; i++) {
        fd[i] = zc_fd(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        NEED(fd[i] > 2 && fcntl(fd[i], F_GETFD) == FD_CLOEXEC && can_write(fd[i]));
    }
    f = zc_fopen(path, "re");
    NEED(f && fileno(f) > 2 && fgetc(f) == 'x');
    d = zc_opendir("/");
    NEED(d && dirfd(d) > 2 && readdir(d));
    for (int i = 0; i <= 2; i++)
        NEED(!(bits >> i & 1) || !can_write(i));
    NEED(zc_fd(-1) == -1);
    zc_fd_fill();
    for (int i = 0; i <= 2; i++)
        NEED(fcntl(i, F_GETFD) >= 0);
    _exit(0);
}

/* A duplicate is taken while there is something; what has its number later gets no line. */
static void log_stays(int bits, const char *path)
{
    int other = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), kept;
    struct stat st;

    NEED(other > 2);
    close_subset(bits);
    zc_log_keep_stderr();
    kept = zc_log_stderr();
    NEED(bits & 4 ? kept < 0 : kept > 2);
    NEED(dup2(other, 2) == 2);
    zc_log(ZC_LOG_ERROR, "to standard error as it was");
    if (kept >= 0)
        NEED(dup2(other, kept) == kept && zc_log_stderr() < 0);
    zc_log(ZC_LOG_ERROR, "to nothing");
    NEED(fstat(other, &st) == 0 && st.st_size == 0);
    _exit(0);
}

static void in_child(void (*what)(int, const char *))
{
    char path[] = "/tmp/zc-fd-XXXXXX";
    int fd = mkstemp(path), status;

    ck_assert_int_gt(fd, 2);
    for (int bits = 0; bits < 8; bits++) {
        pid_t pid = fork();

        if (pid == 0)
            what(bits, path);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_msg(status == 0, "subset %d: status %x", bits, (unsigned)status);
    }
    close(fd);
    unlink(path);
}

START_TEST(they_are_above_two)
{
    in_child(all_above);
}
END_TEST

START_TEST(the_log_goes_where_standard_error_was)
{
    in_child(log_stays);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("util: descriptors");

    CASE(s, "subsets", 20, they_are_above_two, the_log_goes_where_standard_error_was);
    return run_suite(s);
}
