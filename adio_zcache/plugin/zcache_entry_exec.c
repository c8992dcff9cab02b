/*
 * The exec functions: the process's caches go with its memory, so that they are written back
 * before.
 *
 * All of them, for those of libc do not call each other by a name that can be replaced; what libc
 * itself executes (system, popen, posix_spawn) is executed by children, and not met here. In
 * children, which may be of a process with threads, or share its memory (vfork), nothing is called
 * but getpid() and the function that would have been called: it is looked for when the plugin is
 * loaded.
 */
#include "config.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "zcache_exit.h"

static int (*next_execvpe)(const char *file, char *const argv[], char *const envp[]);
static int (*next_fexecve)(int fd, char *const argv[], char *const envp[]);

__attribute__((constructor)) static void find_next(void)
{
    *(void **)&next_execvpe = dlsym(RTLD_NEXT, "execvpe");
    *(void **)&next_fexecve = dlsym(RTLD_NEXT, "fexecve");
}

int execve(const char *path, char *const argv[], char *const envp[])
{
    zcache_exit_before_exec(path);
    return (int)syscall(SYS_execve, path, argv, envp);
}

int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

int execvpe(const char *file, char *const argv[], char *const envp[])
{
    zcache_exit_before_exec(strchr(file, '/') ? file : NULL);
    if (next_execvpe)
        return next_execvpe(file, argv, envp);
    errno = ENOSYS;
    return -1;
}

int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

int fexecve(int fd, char *const argv[], char *const envp[])
{
    zcache_exit_before_exec(NULL);
    if (next_fexecve)
        return next_fexecve(fd, argv, envp);
    errno = ENOSYS;
    return -1;
}

int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
    zcache_exit_before_exec(NULL);
    return (int)syscall(SYS_execveat, dir, path, argv, envp, flags);
}

/* ---- with the arguments one by one ---- */

/* How many pointers they take, with the first and the NULL. */
static size_t count(va_list words)
{
    size_t n = 2;

    while (va_arg(words, const char *))
        n++;
    return n;
}

static void collect(const char **argv, const char *first, va_list *words)
{
    size_t n = 1;

    argv[0] = first;
    while ((argv[n] = va_arg(*words, const char *)))
        n++;
}

/* Makes `argv` of `first` and what follows, and leaves `words` behind the NULL; on the stack, for
 * memory may not be allocated in a child. */
#define COLLECT(argv, first, words)                                                                \
    do {                                                                                           \
        va_start(words, first);                                                                    \
        (argv) = alloca(count(words) * sizeof *(argv));                                            \
        va_end(words);                                                                             \
        va_start(words, first);                                                                    \
        collect(argv, first, &(words));                                                            \
    } while (0)

int execl(const char *path, const char *first, ...)
{
    const char **argv;
    va_list words;

    COLLECT(argv, first, words); /* cppcheck-suppress allocaCalled */
    va_end(words);
    return execve(path, (char *const *)argv, environ);
}

int execlp(const char *file, const char *first, ...)
{
    const char **argv;
    va_list words;

    COLLECT(argv, first, words); /* cppcheck-suppress allocaCalled */
    va_end(words);
    return execvpe(file, (char *const *)argv, environ);
}

int execle(const char *path, const char *first, ...)
{
    char *const *envp;
    const char **argv;
    va_list words;

    COLLECT(argv, first, words); /* cppcheck-suppress allocaCalled */
    envp = va_arg(words, char *const *);
    va_end(words);
    return execve(path, (char *const *)argv, envp);
}
