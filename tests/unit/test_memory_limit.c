/* test_memory_limit.c - the limits on the memory of a process, of both versions of control groups,
 * from files that the test writes; and of this process. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_main.h"
#include "zc_memory_limit.h"

#define GROUP "/sys/fs/cgroup"

static char under[64];

/* ---- files ---- */

__attribute__((format(printf, 2, 3))) static void put(const char *name, const char *fmt, ...)
{
    char path[512];
    va_list ap;
    FILE *f;

    snprintf(path, sizeof path, "%s%s", under, name);
    for (char *p = path + strlen(under) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(path, 0700);
        *p = '/';
    }
    f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    va_start(ap, fmt);
    vfprintf(f, fmt, ap);
    va_end(ap);
    fclose(f);
}

static void make_tree(void)
{
    snprintf(under, sizeof under, "/tmp/zcache-limit.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(under));
}

static void remove_tree(void)
{
    char line[128];

    snprintf(line, sizeof line, "rm -rf %s", under);
    ck_assert_int_eq(system(line), 0);
}

/* ---- what is found ---- */

static struct zc_memory_limit least;
static unsigned shared_limits;

static void note(void *arg, const struct zc_memory_limit *l)
{
    (void)arg;
    if (!l->shared)
        return;
    shared_limits++;
    if (l->bytes < least.bytes)
        least = *l;
}

/* The least shared limit is `bytes` of `file`, one of `n` control groups' limits. */
static void finds(uint64_t bytes, const char *file, unsigned n)
{
    least = (struct zc_memory_limit){.bytes = UINT64_MAX};
    shared_limits = 0;
    zc_memory_limit_each_under(under, note, NULL);
    ck_assert_msg(least.bytes == bytes && !strcmp(least.text, file) && shared_limits == n + 1,
                  "%" PRIu64 " of %s, one of %u", least.bytes, least.text, shared_limits - 1);
}

START_TEST(version_2_up_to_the_root)
{
    put("/proc/self/cgroup", "0::/slurm/job_1/step_0\n");
    put("/proc/self/mountinfo", "30 23 0:26 / " GROUP " rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
    put(GROUP "/slurm/job_1/step_0/memory.max", "max\n");
    put(GROUP "/slurm/job_1/memory.max", "209715200\n");
    put(GROUP "/slurm/memory.max", "419430400\n");
    finds(209715200, GROUP "/slurm/job_1/memory.max", 2);
    put(GROUP "/slurm/memory.max", "104857600\n");
    finds(104857600, GROUP "/slurm/memory.max", 2);
    put(GROUP "/slurm/job_1/step_0/memory.high", "1048576\n");
    finds(1048576, GROUP "/slurm/job_1/step_0/memory.high", 3);
    put(GROUP "/memory.max", "4096\n");
    finds(4096, GROUP "/memory.max", 4);
}
END_TEST

START_TEST(version_1_beside_version_2)
{
    put("/proc/self/cgroup", "12:cpu,cpuacct:/a\n4:memory:/a/b\n1:name=systemd:/memory\n0::/c\n");
    put("/proc/self/mountinfo",
        "31 23 0:27 / " GROUP "/cpu rw - cgroup cgroup rw,cpu\n"
        "32 23 0:28 / " GROUP "/memory rw - cgroup cgroup rw,memory\n"
        "33 23 0:29 / " GROUP "/unified rw - cgroup2 cgroup2 rw,nsdelegate\n");
    put(GROUP "/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put(GROUP "/memory/a/memory.limit_in_bytes", "536870912\n");
    put(GROUP "/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    put(GROUP "/cpu/a/memory.limit_in_bytes", "1\n");
    finds(536870912, GROUP "/memory/a/memory.limit_in_bytes", 1);
    put(GROUP "/unified/c/memory.max", "268435456\n");
    finds(268435456, GROUP "/unified/c/memory.max", 2);
}
END_TEST

/* A container has a part of the hierarchy, at a name with a blank here, and the path of all of it,
 * or, in a namespace of its own, the path from there on. */
START_TEST(a_part_of_the_hierarchy)
{
    put("/proc/self/cgroup", "0::/docker/1234/inner\n");
    put("/proc/self/mountinfo",
        "30 23 0:26 /docker/1234 /sys/fs/c\\040g rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/c g/memory.max", "8192000\n");
    put("/sys/fs/c g/inner/memory.max", "max\n");
    finds(8192000, "/sys/fs/c g/memory.max", 1);
    put("/proc/self/cgroup", "0::/docker/1234\n");
    finds(8192000, "/sys/fs/c g/memory.max", 1);
    put("/proc/self/cgroup", "0::/inner\n");
    put("/sys/fs/c g/inner/memory.max", "4096\n");
    finds(4096, "/sys/fs/c g/inner/memory.max", 2);
    put("/proc/self/cgroup", "0::/\n");
    finds(8192000, "/sys/fs/c g/memory.max", 1);

    /* Another part of it is mounted as well, before. */
    put("/proc/self/cgroup", "0::/job\n");
    put("/proc/self/mountinfo", "29 23 0:26 /other /x rw - cgroup2 cgroup2 rw\n"
                                "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/x/memory.max", "1\n");
    put("/sys/fs/cgroup/job/memory.max", "8192\n");
    finds(8192, "/sys/fs/cgroup/job/memory.max", 1);
}
END_TEST

START_TEST(without_groups_the_host_decides)
{
    uint64_t host;

    finds((uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE), "this host's memory",
          0);
    host = least.bytes;
    put("/proc/self/cgroup", "0::/a\n\n:\nx:y\n7:memory:/b\n");
    put("/proc/self/mountinfo", "1 2 3\n\n - cgroup2 x y\n1 2 0:3 / /m rw - cgroup2 cgroup2 rw\n");
    put("/m/a/memory.max", "many\n");
    put("/m/memory.max", "%s", "");
    finds(host, "this host's memory", 0);
}
END_TEST

/* Lines of more than a buffer's length, and many of them. */
START_TEST(long_files)
{
    char path[3000];
    char name[3200];

    memset(path, 'd', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    snprintf(name, sizeof name, "/proc/self/mountinfo");
    put("/proc/self/cgroup", "5:pids:/%s%s%s%s\n0::/a\n", path, path, path, path);
    put(name, "1 2 0:3 / /%s%s%s rw - ext4 /dev/sda rw\n1 2 0:4 / /m rw - cgroup2 cgroup2 rw\n",
        path, path, path);
    put("/m/a/memory.max", "4096\n");
    finds(4096, "/m/a/memory.max", 1);
}
END_TEST

/* Each test is a process of its own. */
START_TEST(of_this_process)
{
    enum { BYTES = 1 << 30 };
    static const struct {
        int resource;
        const char *text;
    } cases[] = {{RLIMIT_AS, "ulimit -v"}, {RLIMIT_DATA, "ulimit -d"}};
    struct zc_memory_limits before, all;
    struct rlimit l, lower;

    zc_memory_limits_find(&before);
    ck_assert_uint_lt(before.shared.bytes, UINT64_MAX);
    if (before.own.bytes <= BYTES)
        return;
    ck_assert_int_eq(getrlimit(cases[_i].resource, &l), 0);
    lower = (struct rlimit){.rlim_cur = BYTES, .rlim_max = l.rlim_max};
    ck_assert_int_eq(setrlimit(cases[_i].resource, &lower), 0);
    zc_memory_limits_find(&all);
    ck_assert_int_eq(setrlimit(cases[_i].resource, &l), 0);
    ck_assert_uint_eq(all.own.bytes, BYTES);
    ck_assert_str_eq(all.own.text, cases[_i].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("memory_limit");
    TCase *tc = tcase_create("limits");

    tcase_set_timeout(tc, stretched(10));
    tcase_add_checked_fixture(tc, make_tree, remove_tree);
    tcase_add_test(tc, version_2_up_to_the_root);
    tcase_add_test(tc, version_1_beside_version_2);
    tcase_add_test(tc, a_part_of_the_hierarchy);
    tcase_add_test(tc, without_groups_the_host_decides);
    tcase_add_test(tc, long_files);
    tcase_add_loop_test(tc, of_this_process, 0, 2);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
