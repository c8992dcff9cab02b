/* zc_lock_reach.c - how far fcntl locks of a file system reach. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "zc_fd.h"
#include "zc_lock_reach.h"

/* Magic numbers; linux/magic.h of older systems lacks some. */
enum {
    FS_BCACHEFS = 0xca451a4e - (1ll << 32),
    FS_BEEGFS = 0x19830326,
    FS_BTRFS = 0x9123683e - (1ll << 32),
    FS_CEPH = 0x00c36400,
    FS_EXFAT = 0x2011bab0,
    FS_EXT = 0xef53,
    FS_F2FS = 0xf2f52010 - (1ll << 32),
    FS_FAT = 0x4d44,
    FS_FUSE = 0x65735546,
    FS_GFS2 = 0x01161970,
    FS_GPFS = 0x47504653,
    FS_HUGETLB = 0x958458f6 - (1ll << 32),
    FS_JFS = 0x3153464a,
    FS_LUSTRE = 0x0bd00bd0,
    FS_NFS = 0x6969,
    FS_NILFS = 0x3434,
    FS_NTFS3 = 0x7366746e,
    FS_OVERLAY = 0x794c7630,
    FS_RAM = 0x858458f6 - (1ll << 32),
    FS_REISER = 0x52654973,
    FS_TMP = 0x01021994,
    FS_XFS = 0x58465342,
    FS_ZFS = 0x2fc12fc1,
};

const char *zc_lock_reach_name(enum zc_lock_reach r)
{
    static const char *const names[] = {"unknown", "none", "host", "hosts"};

    return names[r];
}

/* ---- the list ---- */

/* A word of a list that commas separate; `word` may end with "=", then any value follows. */
static bool has_option(const char *options, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = options; at && *at; at = strchr(at, ','), at = at ? at + 1 : NULL)
        if (!strncmp(at, word, len) && (word[len - 1] == '=' || at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

/* Version 4 has locks in its own protocol.  Of version 3 they are another service, which may not
 * run, and whose state a restart of the server may lose. */
static enum zc_lock_reach of_nfs(const char *type, const char *options, const char **why)
{
    *why = "locks are local to the host (nolock, local_lock)";
    if (has_option(options, "nolock") || has_option(options, "local_lock=all") ||
        has_option(options, "local_lock=posix"))
        return ZC_LOCKS_NONE;
    if (!strcmp(type, "nfs4") || has_option(options, "vers=4") || has_option(options, "vers=4.0") ||
        has_option(options, "vers=4.1") || has_option(options, "vers=4.2")) {
        *why = "version 4";
        return ZC_LOCKS_HOSTS;
    }
    *why = "locks of version 3 depend on another service";
    return ZC_LOCKS_UNKNOWN;
}

static enum zc_lock_reach of_lustre(const char *options, const char **why)
{
    if (has_option(options, "flock")) {
        *why = "mounted with flock";
        return ZC_LOCKS_HOSTS;
    }
    *why = has_option(options, "localflock") ? "mounted with localflock" : "mounted without flock";
    return ZC_LOCKS_NONE;
}

static enum zc_lock_reach of_gfs2(const char *options, const char **why)
{
    bool local = has_option(options, "localflocks");

    *why = local ? "mounted with localflocks" : "";
    return local ? ZC_LOCKS_NONE : ZC_LOCKS_HOSTS;
}

static bool is_local(long magic)
{
    static const long local[] = {
        FS_EXT,   FS_XFS, FS_BTRFS, FS_TMP, FS_RAM,   FS_OVERLAY, FS_F2FS,    FS_ZFS,
        FS_EXFAT, FS_FAT, FS_NTFS3, FS_JFS, FS_NILFS, FS_REISER,  FS_HUGETLB, FS_BCACHEFS,
    };

    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        if ((int)magic == (int)local[i])
            return true;
    return false;
}

static enum zc_lock_reach reach_of(long magic, const char *type, const char *options,
                                   const char **why)
{
    *why = "";
    if (is_local(magic)) {
        *why = "local";
        return ZC_LOCKS_HOST;
    }
    switch (magic) {
    case FS_NFS:
        return of_nfs(type, options, why);
    case FS_LUSTRE:
        return of_lustre(options, why);
    case FS_GFS2:
        return of_gfs2(options, why);
    case FS_GPFS:
    case FS_CEPH:
        return ZC_LOCKS_HOSTS;
    case FS_BEEGFS:
        *why = "tuneUseGlobalFileLocks cannot be seen from here";
        return ZC_LOCKS_UNKNOWN;
    case FS_FUSE:
        *why = "its server may keep locks to the host";
        return ZC_LOCKS_UNKNOWN;
    default:
        *why = "not in zcache's list";
        return ZC_LOCKS_UNKNOWN;
    }
}

void zc_lock_reach_of(long magic, const char *type, const char *options,
                      struct zc_lock_reach_info *out)
{
    char number[32];
    const char *why;

    out->reach = reach_of(magic, type, options, &why);
    snprintf(number, sizeof number, "file system %lx", (unsigned long)magic & 0xffffffff);
    snprintf(out->text, sizeof out->text, "%.40s%s%s", *type ? type : number, *why ? ": " : "",
             why);
}

/* ---- the mount ---- */

/* Of the mount on which `fd` is; -1: not known. */
static long mount_id(int fd)
{
    char name[64], line[256];
    long id = -1;
    FILE *f;

    snprintf(name, sizeof name, "/proc/thread-self/fdinfo/%d", fd);
    f = zc_fopen(name, "re");
    while (f && id < 0 && fgets(line, sizeof line, f))
        if (sscanf(line, "mnt_id: %ld", &id) != 1)
            id = -1;
    if (f)
        fclose(f);
    return id;
}

/* `line` of mountinfo is cut into pieces: "36 35 98:0 / /mnt rw,noatime master:1 - ext4 /dev/sda
 * rw,errors=continue". */
static bool parse_mount(char *line, const char **type, const char **options)
{
    char *at = strstr(line, " - "), *rest;

    if (!at)
        return false;
    *type = strtok_r(at + 3, " \n", &rest);
    if (!*type || !strtok_r(NULL, " \n", &rest))
        return false;
    *options = strtok_r(NULL, " \n", &rest);
    if (!*options)
        *options = "";
    return true;
}

void zc_lock_reach_find(int fd, struct zc_lock_reach_info *out)
{
    const char *type = "", *options = "";
    char *line = NULL;
    size_t room = 0;
    struct statfs fs;
    long id;
    FILE *f;

    *out = (struct zc_lock_reach_info){.text = "a file system that cannot be asked"};
    if (fstatfs(fd, &fs) < 0)
        return;
    id = mount_id(fd);
    f = id < 0 ? NULL : zc_fopen("/proc/thread-self/mountinfo", "re");
    while (f && getline(&line, &room, f) > 0)
        if (strtol(line, NULL, 10) == id && parse_mount(line, &type, &options))
            break;
    if (f)
        fclose(f);
    zc_lock_reach_of((long)fs.f_type, type, options, out);
    free(line);
}

void zc_lock_reach_find_path(const char *path, struct zc_lock_reach_info *out)
{
    int fd = zc_fd(open(path, O_PATH | O_CLOEXEC));

    zc_lock_reach_find(fd, out);
    if (fd >= 0)
        close(fd);
}
