/* zcuser.c - for tests of the daemon: operations of one of its users.
 *
 *     zcuser WHAT ADDRESS-FILE [PATH [TEXT]]
 *
 *     write PATH TEXT     creates it if it does not exist, and closes it: the file has the text
 *     cached PATH TEXT    the same, but prints "written" and keeps it open until the input ends
 *     read PATH           prints it
 *     truncate PATH SIZE, unlink PATH, stat PATH
 *     again PATH TEXT     opens it, reads it, writes it anew and reads that, over and over, until
 *                         it has succeeded TIMES times and was refused as often; all bytes have to
 *                         be what this program wrote last (not at its first time); prints how
 *                         often, and "last N": the file is full of lines "TEXT N" then
 *     pluck PATH          tries to unlink it until the input ends, which must be refused; prints
 *                         how often
 *     ping                only begins a session, and ends it
 *     other               sends, again and again, the credential of another handshake: as it is,
 *                         a second time, and with one character changed; prints the errors
 *     relay FILE          sends the credential in FILE, made for another server; prints the error
 *
 * The address is the local one if ZCACHE_LOCAL is 1, else the fabric's.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_addrfile.h"
#include "zc_client.h"
#include "zc_lock.h"
#include "zc_log.h"
#include "zc_munge.h"

enum {
    READS = 64 << 10,
    LINE = 16, /* bytes */
    LINES = 1500,
    TIMES = 60,
    PATIENCE_S = 60,
};

struct user {
    struct zc_addrfile file;
    struct zc_net *net;
    struct zc_client *client;
};

static int come(struct user *u)
{
    const char *local = getenv("ZCACHE_LOCAL");
    bool near = local && !strcmp(local, "1");
    struct zc_net_config cfg = {.provider = u->file.provider,
                                .toward = near ? u->file.local : u->file.address,
                                .toward_len = near ? u->file.local_len : u->file.address_len,
                                .munge = u->file.munge,
                                .timeout_ms = 20000,
                                .name = "zcuser"};
    int rc = zc_net_create(&cfg, &u->net);

    return rc ? rc
              : zc_client_connect(u->net, cfg.toward, cfg.toward_len, &u->file.secret, "zcached",
                                  &u->client);
}

/* ---- files ---- */

static int open_file(struct user *u, const char *path, unsigned flags, uint64_t *h)
{
    struct zc_attr attr = {0};

    return zc_client_open(u->client, path, flags, 0640, h, &attr);
}

static int write_file(struct user *u, const char *path, const char *text, bool stay)
{
    uint64_t h;
    ssize_t rc = open_file(u, path, ZC_OPEN_WRITE | ZC_OPEN_CREATE, &h);
    char c;

    if (rc == 0)
        rc = zc_client_write(u->client, h, text, strlen(text), 0);
    if (rc >= 0 && stay) {
        puts("written");
        fflush(stdout);
        while (read(STDIN_FILENO, &c, 1) > 0)
            ;
    }
    return rc < 0 ? (int)rc : zc_client_close(u->client, h, ZC_LEVEL_STORED);
}

static int read_file(struct user *u, const char *path)
{
    char buf[READS];
    uint64_t h;
    ssize_t rc = open_file(u, path, ZC_OPEN_READ, &h);

    if (rc == 0)
        rc = zc_client_read(u->client, h, buf, sizeof buf, 0);
    if (rc >= 0)
        fwrite(buf, 1, (size_t)rc, stdout);
    return rc < 0 ? (int)rc : zc_client_close(u->client, h, ZC_LEVEL_STORED);
}

static int truncate_file(struct user *u, const char *path, const char *size)
{
    uint64_t h;
    int rc = open_file(u, path, ZC_OPEN_WRITE, &h);

    if (rc == 0)
        rc = zc_client_truncate(u->client, h, strtoull(size, NULL, 10));
    return rc < 0 ? rc : zc_client_close(u->client, h, ZC_LEVEL_STORED);
}

static int stat_file(struct user *u, const char *path)
{
    struct zc_attr attr;
    int rc = zc_client_stat(u->client, path, &attr);

    if (rc == 0)
        printf("%llu\n", (unsigned long long)attr.size);
    return rc;
}

/* ---- repeated use while names change ---- */

struct again {
    struct user *user;
    const char *path, *text;
    unsigned own, refused, last;
    char buf[LINE * LINES + 1], got[LINE * LINES + 1];
};

/* The contents after `n` times. */
static void fill(struct again *a, unsigned n)
{
    for (int i = 0; i < LINES; i++)
        snprintf(a->buf + (ptrdiff_t)i * LINE, LINE + 1, "%-7.7s%08u\n", a->text, n);
}

/* Checks that the file has exactly what was written last. */
static int look(struct again *a, uint64_t h, const char *when)
{
    ssize_t n = zc_client_read(a->user->client, h, a->got, sizeof a->got, 0);

    if (n < 0)
        return (int)n;
    if (n != LINE * LINES || memcmp(a->got, a->buf, (size_t)n) != 0)
        return zc_errorf(EIO, "%s %u, %s: %zd bytes that begin with %.*s", a->text, a->last, when,
                         n, n < LINE ? (int)n : LINE - 1, a->got);
    return 0;
}

/* Every other time it is not written back yet when it is opened again. */
static int rewrite(struct again *a, uint64_t h)
{
    struct zc_client *c = a->user->client;
    enum zc_level level = a->own % 2 ? ZC_LEVEL_STORED : ZC_LEVEL_STAGED;
    ssize_t rc = 0;
    int end;

    fill(a, a->last);
    if (a->own)
        rc = look(a, h, "before");
    if (rc == 0) {
        fill(a, a->last + 1);
        rc = zc_client_write(c, h, a->buf, LINE * LINES, 0);
    }
    if (rc > 0) {
        a->last++;
        rc = look(a, h, "after");
    }
    end = zc_client_close(c, h, level);
    a->own++;
    return rc ? (int)rc : end;
}

/* The kernel's error for a name that leads to another user's file, or out of the root. */
static bool is_refusal(int rc)
{
    return rc == -EACCES || rc == -EPERM || rc == -ENOENT || rc == -EAGAIN;
}

static int again(struct user *u, const char *path, const char *text)
{
    static struct again a;
    uint64_t h, until = zc_now() + PATIENCE_S * 1000 * ZC_NS_PER_MS;
    int rc = 0;

    a = (struct again){.user = u, .path = path, .text = text};
    while (rc == 0 && (a.own < TIMES || a.refused < TIMES)) {
        if (zc_now() > until)
            return zc_errorf(ETIMEDOUT, "%s: own %u, refused %u in %d s", text, a.own, a.refused,
                             PATIENCE_S);
        rc = open_file(u, path, ZC_OPEN_READ | ZC_OPEN_WRITE, &h);
        if (rc == 0) {
            rc = rewrite(&a, h);
        } else if (is_refusal(rc)) {
            a.refused++;
            rc = 0;
        }
    }
    if (rc == 0)
        printf("own %u, refused %u, last %u\n", a.own, a.refused, a.last);
    return rc;
}

static int pluck(struct user *u, const char *path)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    unsigned refused = 0;

    for (; poll(&input, 1, 0) == 0; refused++) {
        int rc = zc_client_unlink(u->client, path);

        if (rc == 0)
            return zc_errorf(EEXIST, "%s was there, and is no more", path);
        if (!is_refusal(rc))
            return rc;
    }
    printf("refused %u\n", refused);
    return 0;
}

static int act(struct user *u, const char *what, const char *path, const char *text)
{
    if (!strcmp(what, "ping"))
        return 0;
    if (!strcmp(what, "write") || !strcmp(what, "cached"))
        return write_file(u, path, text, *what == 'c');
    if (!strcmp(what, "read"))
        return read_file(u, path);
    if (!strcmp(what, "truncate"))
        return truncate_file(u, path, text);
    if (!strcmp(what, "unlink"))
        return zc_client_unlink(u->client, path);
    if (!strcmp(what, "stat"))
        return stat_file(u, path);
    if (!strcmp(what, "again"))
        return again(u, path, text);
    if (!strcmp(what, "pluck"))
        return pluck(u, path);
    return zc_errorf(EINVAL, "no such action");
}

/* ---- credentials of other handshakes ---- */

static char others[1024];

static int show_others(uid_t reader, const void *bytes, size_t len, char **credential)
{
    (void)reader, (void)bytes, (void)len;
    *credential = strdup(others);
    return *credential ? 0 : -ENOMEM;
}

static const struct zc_munge_ops showing = {.encode = show_others};

/* It must be refused. */
static bool refused(struct user *u, const char *how)
{
    struct user again = {.file = u->file};
    int rc = come(&again);

    printf("%s: %s\n", how, rc ? zc_error_text(rc) : "let in");
    if (again.client)
        zc_client_disconnect(again.client);
    zc_net_destroy(again.net);
    return rc == -EACCES;
}

static int show_other(struct user *u)
{
    const struct zc_pledge pledge = {.said = {1}, .key = {2}};
    bool all;
    int rc = zc_munge_credential(&pledge, others, sizeof others);
    size_t middle = strlen(others) / 2;

    if (rc)
        return rc;
    zc_munge_replace(&showing);
    all = refused(u, "another's");
    all = refused(u, "once more") && all;
    others[middle] = others[middle] == 'A' ? 'B' : 'A';
    all = refused(u, "changed") && all;
    return all ? 0 : zc_errorf(EPROTO, "not all were refused");
}

/* Relays a credential that its maker sent to a false server instead of this daemon. */
static int relay(struct user *u, const char *from)
{
    FILE *f = fopen(from, "r");

    if (!f || !fgets(others, sizeof others, f)) {
        if (f)
            fclose(f);
        return zc_errorf(EINVAL, "no credential in %s", from);
    }
    fclose(f);
    others[strcspn(others, "\n")] = '\0';
    zc_munge_replace(&showing);
    return refused(u, "another's") ? 0 : zc_errorf(EPROTO, "it was not refused");
}

int main(int argc, char **argv)
{
    struct user u = {0};
    int rc;

    zc_log_init("zcuser");
    if (argc < 3)
        return 2;
    rc = zc_addrfile_read(argv[2], &u.file);
    if (rc == 0 && !strcmp(argv[1], "other")) {
        rc = show_other(&u);
    } else if (rc == 0 && !strcmp(argv[1], "relay")) {
        rc = relay(&u, argc > 3 ? argv[3] : "");
    } else if (rc == 0) {
        rc = come(&u);
        if (rc == 0)
            rc = act(&u, argv[1], argc > 3 ? argv[3] : "", argc > 4 ? argv[4] : "");
    }
    if (rc)
        fprintf(stderr, "zcuser: %s\n", zc_error_text(rc));
    if (u.client)
        zc_client_disconnect(u.client);
    if (u.net)
        zc_net_destroy(u.net);
    return rc ? 1 : 0;
}
