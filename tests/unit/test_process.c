/* test_process.c - the death of a process is detected, even if its number is reused; a client that
 * opens a file through its daemon gets an error at once.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_addrfile.h"
#include "zc_log.h"
#include "zc_process.h"
#include "zc_store_remote.h"

/* A child that has ended and is not waited for yet. */
static pid_t zombie(void)
{
    pid_t pid = fork();
    siginfo_t info;

    if (pid == 0)
        _exit(0);
    ck_assert_int_gt(pid, 0);
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    return pid;
}

START_TEST(this_one_runs)
{
    long me = getpid();
    uint64_t started = zc_process_started(me);

    ck_assert_uint_gt(started, 0);
    ck_assert_int_eq(zc_process_kind(me), ZC_PROCESS_OTHER);
    ck_assert(!zc_process_is_gone(me, started));
    ck_assert(!zc_process_is_gone(me, 0));
}
END_TEST

START_TEST(another_one_has_its_number)
{
    ck_assert(zc_process_is_gone(getpid(), zc_process_started(getpid()) + 1));
}
END_TEST

START_TEST(a_zombie_is_gone)
{
    pid_t pid = zombie();

    ck_assert_int_eq(zc_process_kind(pid), ZC_PROCESS_NONE);
    ck_assert(zc_process_is_gone(pid, 0));
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert(zc_process_is_gone(pid, 0));
}
END_TEST

/* ---- opens through its daemon ---- */

static void refused_at_once(long pid, uint64_t started)
{
    char path[] = "/tmp/zc-process-XXXXXX", want[128];
    struct zc_addrfile a = {.protocol = ZC_PROTOCOL,
                            .provider = "net",
                            .address = {1},
                            .address_len = 1,
                            .boot_id = 1,
                            .pid = pid,
                            .started = started,
                            .secret = {{1}},
                            .root = "/"};
    struct zc_net_config net = {.name = "test"};
    struct zc_store *store;
    int fd;

    umask(077);
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    gethostname(a.host, sizeof a.host - 1);
    zc_pid_space(&a.space);
    ck_assert_int_eq(zc_addrfile_write(path, &a), 0);
    ck_assert_int_eq(zc_store_remote_create(path, &net, &store), -ECONNREFUSED);
    snprintf(want, sizeof want, "(pid %ld on this host) is not running", pid);
    ck_assert_msg(strstr(zc_error_text(-ECONNREFUSED), want), "%s", zc_error_text(-ECONNREFUSED));
    unlink(path);
}

START_TEST(a_daemon_that_is_gone)
{
    pid_t pid = zombie();

    refused_at_once(pid, 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    refused_at_once(getpid(), zc_process_started(getpid()) + 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("util: processes");

    CASE(s, "known", 10, this_one_runs, another_one_has_its_number, a_zombie_is_gone);
    CASE(s, "opens", 10, a_daemon_that_is_gone);
    return run_suite(s);
}
