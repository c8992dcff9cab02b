/* touch.c - for benchmarks: makes a virtual machine have its memory.
 *
 *     touch BYTES
 *
 * Uses so much memory once.  The host of a virtual machine may take back what is free for some
 * seconds (virtio-balloon's free page reporting), and the next use then waits for the host, ten
 * times as long as for the kernel: a machine of its own has all of its memory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
    enum { STEP = 4096 };
    char *end = "", *at;
    long long bytes;

    errno = 0;
    bytes = argc == 2 ? strtoll(argv[1], &end, 10) : 0;
    if (errno || *end || bytes < 1) {
        fprintf(stderr, "usage: touch BYTES\n");
        return 2;
    }
    at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        perror("touch: mmap");
        return 1;
    }
    madvise(at, (size_t)bytes, MADV_HUGEPAGE); /* fewer faults; may fail */
    for (long long i = 0; i < bytes; i += STEP)
        at[i] = 1;
    return 0;
}
