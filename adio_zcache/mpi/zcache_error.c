/*
 * MPI error codes with a text.
 *
 * No one way of making such a code works with every MPI library of the MPICH family:
 *   - MPIR_Err_create_code is how the library makes its own codes; MPICH 4 and 5 and Intel MPI
 *     export it for their Fortran bindings, but no standard says so. Its codes do not run out, and
 *     one that ROMIO broadcast to a process that did not make it still has class and a text there.
 *   - MPI_Add_error_code on a predefined class is what the standard offers. MPICH 5 does it well;
 *     MPICH 4.0 and Intel MPI 2021 show the text of some other error instead.
 *   - The predefined class is itself a code, with the text of the class.
 * The first error tries them in this order and stays with the first whose code has the right
 * class and shows the right text.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "zc_log.h"
#include "zc_text.h"
#include "zcache_error.h"
#include "zcache_library.h"
#include "zcache_mpi_lock.h"

#define SLOTS_PER_CLASS 8
#define CLASSES         64 /* predefined classes that ever get a code; others get no text */

/* MPICH puts about a hundred bytes of its own around a text; fewer than LEAST bytes of a text are
 * of no use. */
enum {
    AROUND = MPI_MAX_ERROR_STRING > 256 ? 112 : 0, /* 0: Open MPI adds nothing */
    TEXT_MAX = MPI_MAX_ERROR_STRING - AROUND,
    LEAST = 80
};

enum method { UNKNOWN, NATIVE, ADD_CODE, CLASS_ONLY };

/* One code of MPI_Add_error_code. Codes cannot be given back, so texts take turns. */
struct slot {
    int code;
    unsigned long used;
    char text[MPI_MAX_ERROR_STRING];
};

struct class_slots {
    int mpi_class;
    int used;
    struct slot slot[SLOTS_PER_CLASS];
};

static struct zcache_mpi_lock turn = ZCACHE_MPI_LOCK_INITIALIZER(ZCACHE_MPI_LOCK_CODES);
static enum method method; /* atomic; found in the turn, as is: */
static size_t room;        /* for a text, with its end; bytes */

/* Used in the turn. */
static struct class_slots classes[CLASSES];
static int classes_used;
static unsigned long clock_now;

static struct class_slots *slots_of(int mpi_class)
{
    for (int i = 0; i < classes_used; i++) {
        if (classes[i].mpi_class == mpi_class)
            return &classes[i];
    }
    if (classes_used == CLASSES)
        return NULL;
    classes[classes_used].mpi_class = mpi_class;
    return &classes[classes_used++];
}

static int add_code(int mpi_class, const char *text)
{
    struct class_slots *c = slots_of(mpi_class);
    struct slot *s = NULL;

    if (!c)
        return mpi_class;
    for (int i = 0; i < c->used; i++) {
        if (!strcmp(c->slot[i].text, text)) {
            c->slot[i].used = ++clock_now;
            return c->slot[i].code;
        }
        if (!s || c->slot[i].used < s->used)
            s = &c->slot[i];
    }
    if (c->used < SLOTS_PER_CLASS) {
        s = &c->slot[c->used];
        if (PMPI_Add_error_code(mpi_class, &s->code) != MPI_SUCCESS)
            return mpi_class;
        c->used++;
    }
    snprintf(s->text, sizeof(s->text), "%s", text);
    s->used = ++clock_now;
    PMPI_Add_error_string(s->code, s->text);
    return s->code;
}

static int native_code(int mpi_class, const char *text)
{
    return zcache_library()->err_create_code(MPI_SUCCESS, 0, "zcache", 0, mpi_class, "**io",
                                             "**io %s", text);
}

/* How much of TEXT is shown for CODE, with the end of the string; 0: it is not what was asked
 * for. */
static size_t shown(int code, int mpi_class, const char *text)
{
    char all[ZCACHE_MPI_TEXT_MAX] = "";
    const char *at;
    size_t n = 0;
    int len, got = -1;

    if (PMPI_Error_class(code, &got) != MPI_SUCCESS || got != mpi_class ||
        PMPI_Error_string(code, all, &len) != MPI_SUCCESS || !(at = strchr(all, *text)))
        return 0;
    while (text[n] && at[n] == text[n])
        n++;
    return n < LEAST ? 0 : n + 1;
}

/* MPICH 4.0 shows 239 bytes, whatever MPI_MAX_ERROR_STRING is. */
static enum method find_method(void)
{
    char text[TEXT_MAX];

    memset(text, '~', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    room = zcache_library()->err_create_code
               ? shown(native_code(MPI_ERR_IO, text), MPI_ERR_IO, text)
               : 0;
    if (room)
        return NATIVE;
    room = shown(add_code(MPI_ERR_IO, text), MPI_ERR_IO, text);
    return room ? ADD_CODE : CLASS_ONLY;
}

static enum method method_of_library(void)
{
    enum method m = __atomic_load_n(&method, __ATOMIC_ACQUIRE);

    if (m != UNKNOWN)
        return m;
    zcache_mpi_lock_get(&turn);
    if (method == UNKNOWN)
        __atomic_store_n(&method, find_method(), __ATOMIC_RELEASE);
    m = method;
    zcache_mpi_lock_put(&turn);
    return m;
}

/* FMT with ARGS, so that the library shows its end. */
static void format(char *line, size_t size, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    zc_text_vformat(line, size, room ? room : size, fmt, args);
    va_end(args);
}

int zcache_mpi_error(int mpi_class, const char *text)
{
    char line[TEXT_MAX];
    enum method m;
    int code = mpi_class;

    if (mpi_class == MPI_SUCCESS)
        return MPI_SUCCESS;
    m = method_of_library();
    format(line, sizeof line, "%s", text);
    if (m == NATIVE)
        return native_code(mpi_class, line);
    if (m == ADD_CODE) {
        zcache_mpi_lock_get(&turn);
        code = add_code(mpi_class, line);
        zcache_mpi_lock_put(&turn);
    }
    return code;
}

int zcache_mpi_errorf(int mpi_class, const char *fmt, ...)
{
    char text[PATH_MAX + MPI_MAX_ERROR_STRING];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return zcache_mpi_error(mpi_class, text);
}

int zcache_error_class(int rc)
{
    switch (-rc) {
    case EACCES:
    case EPERM:
        return MPI_ERR_ACCESS;
    case ENOENT:
        return MPI_ERR_NO_SUCH_FILE;
    case EEXIST:
        return MPI_ERR_FILE_EXISTS;
    case EROFS:
        return MPI_ERR_READ_ONLY;
    case ENOSPC:
    case EFBIG:
        return MPI_ERR_NO_SPACE;
    case EBUSY:
        return MPI_ERR_FILE_IN_USE;
    case EDQUOT:
        return MPI_ERR_QUOTA;
    case EISDIR:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
        return MPI_ERR_BAD_FILE;
    case EINVAL:
    case ERANGE:
    case EOVERFLOW:
        return MPI_ERR_ARG;
    case ENOMEM:
        return MPI_ERR_NO_MEM;
    case EFAULT:
        return MPI_ERR_BUFFER;
    case EILSEQ:
        return MPI_ERR_CONVERSION;
    case EOPNOTSUPP:
    case ENOSYS:
        return MPI_ERR_UNSUPPORTED_OPERATION;
    default:
        return MPI_ERR_IO;
    }
}

void zcache_set_error(int *error_code, int rc, const char *what, const char *path)
{
    if (rc == 0)
        *error_code = MPI_SUCCESS;
    else
        *error_code = zcache_mpi_errorf(zcache_error_class(rc), "zcache: %s %s: %s", what, path,
                                        zc_error_text(rc));
}
