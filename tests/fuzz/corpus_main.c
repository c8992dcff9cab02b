/* corpus_main.c - runs a fuzz target on files, where there is no libFuzzer.
 *
 *     fuzz_NAME FILE|DIRECTORY ...
 *
 * Prints the name of a file that ends the process.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

static char current[4096];
static unsigned count;

/* Uses write(2) only, as a signal handler must. */
static void say_which(int sig)
{
    static const char text[] = "\nthe input was ";

    if (write(STDERR_FILENO, text, sizeof text - 1) < 0 ||
        write(STDERR_FILENO, current, strlen(current)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
        _exit(99);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void bad(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(99);
}

/* The bytes lie in memory of exactly their length, so that sanitizers see reads beyond it. */
static void run_file(const char *path)
{
    FILE *f = fopen(path, "re");
    unsigned char *data;
    struct stat st;
    size_t len;

    if (!f || fstat(fileno(f), &st) < 0)
        bad(path);
    len = (size_t)st.st_size;
    data = malloc(len ? len : 1);
    if (!data || fread(data, 1, len, f) != len)
        bad(path);
    fclose(f);
    snprintf(current, sizeof current, "%s", path);
    LLVMFuzzerTestOneInput(data, len);
    free(data);
    count++;
}

static void run_path(const char *path)
{
    struct dirent **entries;
    struct stat st;
    int n;

    if (stat(path, &st) < 0)
        bad(path);
    if (!S_ISDIR(st.st_mode)) {
        run_file(path);
        return;
    }
    n = scandir(path, &entries, NULL, alphasort);
    if (n < 0)
        bad(path);
    for (int i = 0; i < n; i++) {
        char name[4096];

        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            run_path(name);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    signal(SIGABRT, say_which);
    signal(SIGSEGV, say_which);
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++)
        run_path(argv[i]);
    printf("%u inputs\n", count);
    return count ? 0 : 99;
}
