/* zc_addrfile.c - address files: written atomically, parsed strictly, listed in order.
 *
 * A file counts as complete when its last byte is a newline and each key is there exactly once,
 * "local", "started", "host_boot", "pid_ns" and "kind" at most once.  Unknown keys are ignored, so
 * that a later version may add some.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zc_addrfile.h"
#include "zc_fd.h"
#include "zc_log.h"
#include "zc_process.h"
#include "zc_tp_local.h"
#include "zc_units.h"

#define FIRST_LINE "zcache-daemon 1"
#define SUFFIX     ".addr"

/* The largest valid file: every field at its limit. */
enum { FILE_MAX = 4 * ZC_MAX_ADDRESS + ZC_MAX_PATH + 1024 };

/* ---- writing ---- */

static bool one_line(const char *s)
{
    return *s && !strpbrk(s, "\n\r");
}

/* `out` has room for two characters a byte and a NUL. */
static void print_hex(const unsigned char *bytes, size_t n, char *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static int print_file(const struct zc_addrfile *a, char *buf, size_t len)
{
    char hex[2 * ZC_MAX_ADDRESS + 1], local[2 * ZC_MAX_ADDRESS + 1], secret[2 * ZC_SECRET_SIZE + 1];
    char space[96] = "";
    int n;

    if (!one_line(a->provider) || !one_line(a->host) || !one_line(a->root) || a->address_len == 0 ||
        a->address_len > ZC_MAX_ADDRESS || a->pid <= 0 || !zc_secret_is_made(&a->secret))
        return zc_errorf(EINVAL, "a value does not fit into an address file (root \"%s\")",
                         a->root);
    print_hex(a->address, a->address_len, hex);
    print_hex(a->local, a->local_len, local);
    print_hex(a->secret.bytes, sizeof a->secret.bytes, secret);
    if (zc_pid_space_same(&a->space, &a->space)) /* all of it is known */
        snprintf(space, sizeof space, "host_boot %s\npid_ns %" PRIu64 "\n", a->space.boot,
                 a->space.ns);
    n = snprintf(buf, len,
                 FIRST_LINE "\nprotocol %u\nprovider %s\naddress %s\nhost %s\npid %ld\n"
                            "started %" PRIu64 "\n%sboot %016" PRIx64 "\n%s%s%s%s %s\n%sroot %s\n",
                 a->protocol, a->provider, hex, a->host, a->pid, a->started, space, a->boot_id,
                 a->local_len ? "local " : "", local, a->local_len ? "\n" : "",
                 a->munge ? "munge" : "secret", secret, a->aggregator ? "kind aggregator\n" : "",
                 a->root);
    zc_forget(secret, sizeof secret);
    return (size_t)n < len ? n : zc_errorf(EINVAL, "an address file would be too long");
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -errno;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

/* Makes a new file beside `path`: temp[ZC_MAX_PATH] is its name, which does not end in .addr, so
 * zc_addrfile_list() never sees it.  Returns a descriptor.  mkstemp() makes it private. */
static int make_beside(const char *path, char *temp)
{
    int fd;

    if ((size_t)snprintf(temp, ZC_MAX_PATH, "%s.XXXXXX", path) >= ZC_MAX_PATH)
        return zc_errorf(ENAMETOOLONG, "address file \"%.200s...\": name too long", path);
    fd = zc_fd(mkstemp(temp));
    return fd >= 0 ? fd
                   : zc_errorf(errno, "cannot create a file beside %s: %s", path, strerror(errno));
}

/* It stays private, unless it has no secret. */
static int write_beside(const char *path, const struct zc_addrfile *a, char *temp)
{
    char text[FILE_MAX];
    int n = print_file(a, text, sizeof text);
    int fd = n < 0 ? n : make_beside(path, temp), rc;

    if (fd < 0) {
        zc_forget(text, sizeof text);
        return fd;
    }
    rc = write_all(fd, text, (size_t)n);
    zc_forget(text, sizeof text);
    if (rc == 0 && a->munge && fchmod(fd, 0644) < 0)
        rc = -errno;
    if (close(fd) < 0 && rc == 0)
        rc = -errno;
    if (rc == 0)
        return 0;
    unlink(temp);
    return zc_errorf(-rc, "cannot write %s: %s", path, strerror(-rc));
}

static int cannot_write(const char *path, const char *temp)
{
    int err = errno;

    unlink(temp);
    return zc_errorf(err, "cannot write %s: %s", path, strerror(err));
}

int zc_addrfile_write(const char *path, const struct zc_addrfile *a)
{
    char temp[ZC_MAX_PATH];
    int rc = write_beside(path, a, temp);

    if (rc == 0 && rename(temp, path) < 0)
        rc = cannot_write(path, temp);
    return rc;
}

static bool is_of(const char *path, uint64_t boot_id)
{
    struct zc_addrfile a;
    struct stat st;

    if (boot_id)
        return zc_addrfile_probe(path, &a) == 0 && a.boot_id == boot_id;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0;
}

/* Links the file to its name, if that is free: else -1 and EEXIST.  A link that NFS reports as
 * failed may have been made (its reply was lost), which the link count shows: open(2). */
static int give_name(const char *temp, const char *path)
{
    struct stat st;

    if (link(temp, path) == 0 || (lstat(temp, &st) == 0 && st.st_nlink == 2)) {
        unlink(temp);
        return 0;
    }
    if (errno != EEXIST && lstat(path, &st) < 0)
        return rename(temp, path); /* a file system without links */
    errno = EEXIST;
    return -1;
}

/* Removes the file at `path` if it is still that of `boot_id`: renames it first, and moves the file
 * of a second daemon back.  If a third daemon has taken `path` by then, the second one loses its
 * file, and notices that (iod_fence.h) before it writes anything. */
static int take_away(const char *path, uint64_t boot_id)
{
    char aside[ZC_MAX_PATH];
    int fd = make_beside(path, aside);

    if (fd < 0)
        return fd;
    close(fd);
    if (rename(path, aside) < 0)
        return errno == ENOENT ? unlink(aside) : cannot_write(path, aside);
    if (is_of(aside, boot_id))
        return unlink(aside);
    if (give_name(aside, path) < 0)
        unlink(aside);
    return zc_errorf(EBUSY, "%s has become another daemon's", path);
}

int zc_addrfile_replace(const char *path, const struct zc_addrfile *a, uint64_t before)
{
    char temp[ZC_MAX_PATH];
    int rc = write_beside(path, a, temp);
    struct stat st;

    while (rc == 0 && give_name(temp, path) < 0) {
        if (errno != EEXIST)
            return cannot_write(path, temp);
        if (is_of(path, before))
            rc = take_away(path, before);
        else if (lstat(path, &st) == 0)
            rc = zc_errorf(EBUSY, "%s is another daemon's", path);
    }
    if (rc < 0)
        unlink(temp);
    return rc;
}

/* If no second file can be made, as on a full file system, the file that was read is assumed to be
 * still there: else processes that wait for the daemon's end would wait for ever. */
void zc_addrfile_remove(const char *path, uint64_t boot_id)
{
    if (is_of(path, boot_id) && take_away(path, boot_id) < 0 && is_of(path, boot_id))
        unlink(path);
}

/* ---- reading ---- */

static bool parse_hex(const char *s, unsigned char *out, size_t max, size_t *len)
{
    size_t n = strlen(s);

    if (n == 0 || n % 2 || n / 2 > max || strspn(s, "0123456789abcdefABCDEF") != n)
        return false;
    for (size_t i = 0; i < n / 2; i++) {
        char digits[3] = {s[2 * i], s[2 * i + 1], 0};

        out[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    *len = n / 2;
    return true;
}

static bool parse_up_to(const char *s, uint64_t max, uint64_t *out)
{
    return zc_parse_count(s, out) == 0 && *out <= max;
}

static bool copy_text(char *to, size_t cap, const char *s)
{
    return *s && (size_t)snprintf(to, cap, "%s", s) < cap;
}

enum { KEY_SHOWN = 16 };
enum key {
    PROTOCOL,
    PROVIDER,
    ADDRESS,
    HOST,
    PID,
    STARTED,
    BOOT,
    SECRET,
    ROOT,
    LOCAL,
    MUNGE,
    HOST_BOOT,
    PID_NS,
    KIND,
    NKEYS
};
static const char *const keys[NKEYS] = {"protocol", "provider",  "address", "host", "pid",
                                        "started",  "boot",      "secret",  "root", "local",
                                        "munge",    "host_boot", "pid_ns",  "kind"};

/* Optional keys; SECRET or MUNGE is required. */
enum {
    OPTIONAL = 1u << LOCAL | 1u << STARTED | 1u << SECRET | 1u << MUNGE | 1u << HOST_BOOT |
               1u << PID_NS | 1u << KIND
};

static bool parse_value(struct zc_addrfile *a, int key, const char *value)
{
    unsigned char boot[8];
    uint64_t v;
    size_t n;

    switch (key) {
    case PROTOCOL:
        if (!parse_up_to(value, UINT16_MAX, &v))
            return false;
        a->protocol = (unsigned)v;
        return true;
    case PROVIDER:
        return copy_text(a->provider, sizeof a->provider, value);
    case ADDRESS:
        return parse_hex(value, a->address, sizeof a->address, &a->address_len);
    case LOCAL:
        return parse_hex(value, a->local, sizeof a->local, &a->local_len);
    case HOST:
        return copy_text(a->host, sizeof a->host, value);
    case PID:
        if (!parse_up_to(value, INT32_MAX, &v) || v == 0)
            return false;
        a->pid = (long)v;
        return true;
    case STARTED:
        return zc_parse_count(value, &a->started) == 0;
    case HOST_BOOT:
        return copy_text(a->space.boot, sizeof a->space.boot, value);
    case PID_NS:
        return zc_parse_count(value, &a->space.ns) == 0;
    case BOOT:
        if (!parse_hex(value, boot, sizeof boot, &n) || n != sizeof boot)
            return false;
        a->boot_id = strtoull(value, NULL, 16);
        return a->boot_id != 0; /* 0 means none */
    case KIND:                  /* a later version may have others */
        a->aggregator = !strcmp(value, "aggregator");
        return true;
    case MUNGE:
    case SECRET:
        a->munge = key == MUNGE;
        return parse_hex(value, a->secret.bytes, sizeof a->secret.bytes, &n) &&
               n == sizeof a->secret.bytes && zc_secret_is_made(&a->secret);
    default:
        return copy_text(a->root, sizeof a->root, value);
    }
}

static int key_of(const char *name)
{
    int key = 0;

    while (key < NKEYS && strcmp(keys[key], name) != 0)
        key++;
    return key;
}

/* Quotes only the key of a bad line: the rest may be a mistyped secret. */
static int bad_line(const char *path, const char *line)
{
    size_t word = strspn(line, "abcdefghijklmnopqrstuvwxyz_");

    return zc_errorf(EINVAL, "%s: bad line \"%.*s\" in an address file", path,
                     (int)(word < KEY_SHOWN ? word : KEY_SHOWN), line);
}

/* Parses `text`, cutting it into lines.  All keys must be there. */
static int parse_file(const char *path, char *text, struct zc_addrfile *a)
{
    unsigned seen = 0;
    char *rest = text;
    char *line = strsep(&rest, "\n");

    if (strcmp(line, FIRST_LINE) != 0 || !rest)
        return zc_errorf(EINVAL, "%s is not a zcache address file", path);
    while ((line = strsep(&rest, "\n")) && rest) {
        char *value = strchr(line, ' ');
        int key;

        if (!value)
            return bad_line(path, line);
        *value++ = '\0';
        key = key_of(line);
        if (key == NKEYS)
            continue;
        if ((seen & 1u << key) || !parse_value(a, key, value))
            return zc_errorf(EINVAL, "%s: bad value \"%s %.80s\" in an address file", path, line,
                             key == SECRET ? "..." : value);
        seen |= 1u << key;
    }
    /* cppcheck-suppress nullPointerRedundantCheck ; the loop ends before line is none */
    if (*line)
        return zc_errorf(EINVAL, "%s: the last line of the address file is cut off", path);
    if (!(seen & (1u << SECRET | 1u << MUNGE)))
        return zc_errorf(EINVAL,
                         "%s has no secret, by which its daemon would know us: it was written by "
                         "an older release, or is cut; start the daemon again",
                         path);
    if ((seen & 1u << SECRET) && (seen & 1u << MUNGE))
        return zc_errorf(EINVAL, "%s: an address file with \"secret\" and \"munge\"", path);
    for (int key = 0; key < NKEYS; key++)
        if (!((seen | OPTIONAL) & 1u << key))
            return zc_errorf(EINVAL, "%s: incomplete address file, no \"%s\"", path, keys[key]);
    return 0;
}

/* Rejects the file of a daemon of many users unless it belongs to root, or is our copy. */
static int check_public(const char *path, const struct stat *st)
{
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return zc_errorf(EPERM,
                         "%s belongs to another user (uid %ld): that of a daemon of many users is "
                         "root's; ask for where yours is",
                         path, (long)st->st_uid);
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return zc_errorf(EPERM,
                         "%s may be written by others (mode %04o), who could name a daemon of "
                         "theirs in it: start the daemon again, which makes a new one",
                         path, (unsigned)st->st_mode & 07777);
    return 0;
}

/* Rejects a file that another user can read or has written, since that user could pose as the
 * daemon. For root, too: its data would go to another user. */
static int check_owner(const char *path, const struct stat *st, const char *text)
{
    if (strstr(text, "\nmunge "))
        return check_public(path, st);
    if (st->st_uid != geteuid())
        return zc_errorf(EPERM,
                         "%s belongs to another user (uid %ld): a daemon serves who started it%s",
                         path, (long)st->st_uid,
                         geteuid() == 0 ? ", and root is no exception: run this as that user"
                                        : "; start one of your own");
    if (st->st_mode & (S_IRWXG | S_IRWXO))
        return zc_errorf(EPERM,
                         "%s may be read or written by others (mode %04o), and who has read its "
                         "secret may use the daemon: start the daemon again, which makes a new one",
                         path, (unsigned)st->st_mode & 07777);
    return 0;
}

/* Reads the file as a string; returns its length.  *st: its attributes. */
static ssize_t slurp(const char *path, char *buf, size_t cap, struct stat *st)
{
    size_t len = 0;
    ssize_t n = 0;
    int fd = zc_fd(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));

    if (fd < 0)
        return -errno;
    if (fstat(fd, st) < 0) {
        n = -errno;
        close(fd);
        return n;
    }
    while (len < cap && ((n = read(fd, buf + len, cap - len)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0)
            len += (size_t)n;
    if (n < 0)
        n = -errno;
    close(fd);
    if (n < 0)
        return n;
    if (len == cap || memchr(buf, 0, len))
        return -EFBIG;
    buf[len] = '\0';
    return (ssize_t)len;
}

/* `text` has room for FILE_MAX bytes. */
static int read_file(const char *path, char *text, struct zc_addrfile *a)
{
    struct stat st;
    ssize_t n = slurp(path, text, FILE_MAX, &st);
    int rc;

    if (n == -EFBIG)
        return zc_errorf(EINVAL, "%s is not a zcache address file", path);
    if (n == -ENOENT)
        return zc_errorf(ENOENT, "no address file %s: is the daemon running?", path);
    if (n < 0)
        return zc_errorf((int)-n, "cannot read %s: %s", path, strerror((int)-n));
    rc = check_owner(path, &st, text);
    return rc ? rc : parse_file(path, text, a);
}

int zc_addrfile_read(const char *path, struct zc_addrfile *out)
{
    struct zc_addrfile a = {0};
    char text[FILE_MAX];
    int rc = read_file(path, text, &a);

    if (rc == 0)
        *out = a;
    zc_secret_forget(&a.secret);
    zc_forget(text, sizeof text);
    return rc;
}

int zc_addrfile_probe(const char *path, struct zc_addrfile *out)
{
    int rc = zc_addrfile_read(path, out);

    if (rc == 0)
        zc_secret_forget(&out->secret);
    return rc;
}

bool zc_addrfile_is_near(const struct zc_addrfile *a)
{
    return zc_tp_local_can_reach(a->local, a->local_len);
}

bool zc_addrfile_is_loopback(const struct zc_addrfile *a)
{
    struct sockaddr_in in;

    if (a->address_len != sizeof in)
        return false;
    memcpy(&in, a->address, sizeof in);
    return in.sin_family == AF_INET && ntohl(in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

void zc_addrfile_here(struct zc_addrfile *a)
{
    gethostname(a->host, sizeof a->host - 1);
    a->pid = getpid();
    a->started = zc_process_started(getpid());
    zc_pid_space(&a->space);
}

static bool is_same_kernel(const struct zc_addrfile *a)
{
    struct zc_pid_space mine;

    zc_pid_space(&mine);
    return zc_pid_space_same_boot(&mine, &a->space);
}

bool zc_addrfile_pid_counts(const struct zc_addrfile *a)
{
    struct zc_pid_space mine;

    zc_pid_space(&mine);
    return zc_pid_space_same(&mine, &a->space) && zc_is_this_host(a->host);
}

bool zc_addrfile_is_gone(const struct zc_addrfile *a)
{
    return zc_addrfile_pid_counts(a) && zc_process_is_gone(a->pid, a->started);
}

int zc_addrfile_listens(const struct zc_addrfile *a)
{
    return is_same_kernel(a) ? zc_tp_local_listens(a->local, a->local_len) : -EXDEV;
}

/* A container may share the network with a host of another name: then its daemon is near. */
int zc_addrfile_check_reach(const char *path, const struct zc_addrfile *a)
{
    char here[256] = "";

    gethostname(here, sizeof here - 1);
    if (!zc_addrfile_is_loopback(a) || zc_addrfile_is_near(a))
        return 0;
    if (a->local_len && is_same_kernel(a)) {
        if (zc_tp_local_same_network(a->local, a->local_len))
            return 0;
        return zc_errorf(EHOSTUNREACH,
                         "the daemon of %s (pid %ld on %s) listens on the loopback interface of "
                         "another network namespace, a container's or its host's: start it with "
                         "--listen and an interface that both reach",
                         path, a->pid, a->host);
    }
    if (!strcmp(here, a->host))
        return 0;
    return zc_errorf(EHOSTUNREACH,
                     "the daemon of %s (pid %ld) can be reached on its host %s only, and this is "
                     "%s: start it with --listen and the interface that hosts reach each other by "
                     "(zcache start: --interface)",
                     path, a->pid, a->host, here);
}

const void *zc_addrfile_address(const struct zc_addrfile *a, bool local, size_t *len)
{
    if (local && zc_addrfile_is_near(a)) {
        *len = a->local_len;
        return a->local;
    }
    *len = a->address_len;
    return a->address;
}

/* ---- listing ---- */

/* "n2" before "n10"; numbers of one value in different spellings by their text. */
static int by_number(const char *a, const char *b)
{
    const char *a0 = a, *b0 = b;

    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            size_t na, nb;
            int c;

            a += strspn(a, "0");
            b += strspn(b, "0");
            na = strspn(a, "0123456789");
            nb = strspn(b, "0123456789");
            c = na != nb ? (na < nb ? -1 : 1) : strncmp(a, b, na);
            if (c)
                return c;
            a += na;
            b += nb;
        } else if (*a++ != *b++) {
            return (unsigned char)a[-1] < (unsigned char)b[-1] ? -1 : 1;
        }
    }
    if (*a || *b)
        return *a ? 1 : -1;
    return strcmp(a0, b0);
}

static int compare(const struct dirent **a, const struct dirent **b)
{
    return by_number((*a)->d_name, (*b)->d_name);
}

static int is_addrfile(const struct dirent *e)
{
    size_t n = strlen(e->d_name);

    return e->d_name[0] != '.' && n > strlen(SUFFIX) &&
           strcmp(e->d_name + n - strlen(SUFFIX), SUFFIX) == 0;
}

/* Names found so far, each NUL-terminated, one behind the other. */
struct names {
    char *text;
    size_t len;
    int count;
};

static int add_name(struct names *l, const char *dir, const char *name)
{
    size_t n = (dir ? strlen(dir) + 1 : 0) + strlen(name) + 1;
    char *text = realloc(l->text, l->len + n);

    if (!text)
        return -ENOMEM;
    l->text = text;
    snprintf(text + l->len, n, "%s%s%s", dir ? dir : "", dir ? "/" : "", name);
    l->len += n;
    l->count++;
    return 0;
}

static int add_directory(struct names *l, const char *dir)
{
    struct dirent **entries;
    int n = scandir(dir, &entries, is_addrfile, compare), rc = 0;

    if (n < 0)
        return zc_errorf(errno, "cannot list %s: %s", dir, strerror(errno));
    if (n == 0)
        rc = zc_errorf(ENOENT, "no address file (*%s) in %s: is the daemon running?", SUFFIX, dir);
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = add_name(l, dir, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

static int add_entry(struct names *l, const char *entry)
{
    struct stat st;

    if (stat(entry, &st) < 0) {
        if (errno == ENOENT)
            return zc_errorf(ENOENT, "no address file %s: is the daemon running?", entry);
        return zc_errorf(errno, "cannot reach %s: %s", entry, strerror(errno));
    }
    return S_ISDIR(st.st_mode) ? add_directory(l, entry) : add_name(l, NULL, entry);
}

/* One allocation: the array of pointers and behind it the names. */
static int pack(const struct names *l, char ***paths)
{
    size_t table = (size_t)(l->count ? l->count : 1) * sizeof(char *);
    char **p = malloc(table + l->len);
    char *text;

    if (!p)
        return -ENOMEM;
    text = (char *)p + table;
    if (l->len)
        memcpy(text, l->text, l->len);
    p[0] = NULL;
    for (int i = 0; i < l->count; i++) {
        p[i] = text;
        text += strlen(text) + 1;
    }
    *paths = p;
    return l->count;
}

int zc_addrfile_list(const char *daemons, char ***paths)
{
    struct names l = {0};
    char *copy = strdup(daemons), *rest = copy, *entry;
    int rc = copy ? 0 : -ENOMEM;

    while (rc == 0 && (entry = strsep(&rest, ",")))
        if (*entry)
            rc = add_entry(&l, entry);
    if (rc == 0)
        rc = pack(&l, paths);
    free(copy);
    free(l.text);
    return rc;
}
