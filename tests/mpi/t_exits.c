/*
 * A program that ends with its file open: t_exits FILE WAY [HINT=VALUE ...]. Every rank writes its
 * blocks of the file, then ends in the WAY that is named:
 *
 *     return, finalize   main() returns, without MPI_Finalize and after it
 *     exit               exit(0)
 *     status             exit(5)
 *     inside             exit(0) while other threads go on writing, behind the blocks
 *     quick              quick_exit(0)
 *     early              exit(0) of rank 0 alone, while the others wait for a message from it
 *     late               exit(0) of rank 0 alone, while the others go on writing, and close
 *     handler            exit(0), and an exit handler that is older than the open writes and closes
 *     destructor         exit(0), and a destructor of the program, which runs after all handlers,
 *                        writes and closes
 *     fork               exit(0) of a child that has opened nothing, then a close
 *     exec, execvp       another program takes the process's place; execfails: it does not exist
 *     abort              MPI_Abort by rank 0; abortall: by all; abortother: by the last, to which
 *                        no block belongs
 *     abortexit, aborttwice  exit(0), or MPI_Abort once more, while another thread is in MPI_Abort
 *                        and waits for the store ($FAULTSHIM_HOLD)
 *     _exit, kill, crash by rank 0, without any cleanup
 *     synced             the same as kill, after MPI_File_sync
 */
#include "t_mpiio.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, BLOCKS = 4, PIECE = 4 << 10, THREADS = 3 };

static MPI_File fh;
static unsigned char data[BLOCK];
static const char *way;
static char **words;

static int is(const char *word)
{
    return !strcmp(way, word);
}

/* Writes odd blocks in pieces, which go by ring to an owner on the same host. */
static void write_block(int i)
{
    int piece = i % 2 ? PIECE : BLOCK;
    MPI_Status status;

    for (int k = 0; k < BLOCK; k++)
        data[k] = (unsigned char)(k * 7 + (k >> 8) + t_rank * 31 + i);
    for (int k = 0; k < BLOCK; k += piece)
        OK(MPI_File_write_at(fh, ((MPI_Offset)i * t_size + t_rank) * BLOCK + k, data + k, piece,
                             MPI_BYTE, &status));
}

static void write_and_close(void)
{
    write_block(BLOCKS);
    OK(MPI_File_close(&fh));
}

static void close_late(void)
{
    if (way && is("handler"))
        write_and_close();
}

__attribute__((destructor)) static void close_last(void)
{
    if (way && is("destructor"))
        write_and_close();
}

static void open_file(const char *name)
{
    MPI_Info info;

    OK(MPI_Info_create(&info));
    for (char **w = words; *w; w++) {
        char *value = strchr(*w, '=');

        if (!value)
            continue;
        *value = 0;
        OK(MPI_Info_set(info, *w, value + 1));
    }
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    OK(MPI_Info_free(&info));
}

static void child_exits(void)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        exit(3);
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    OK(MPI_File_close(&fh));
    MPI_Finalize();
    exit(t_failures != 0);
}

static int rounds; /* atomic */

static void *writes_on(void *arg)
{
    static unsigned char zeros[BLOCK];
    MPI_Status status;

    while (MPI_File_write_at(fh, (MPI_Offset)BLOCKS * t_size * BLOCK, zeros, BLOCK, MPI_BYTE,
                             &status) == MPI_SUCCESS)
        __atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
    pause(); /* the program has ended */
    return arg;
}

static void write_elsewhere(void)
{
    pthread_t thread;

    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread, NULL, writes_on, NULL) == 0);
    while (__atomic_load_n(&rounds, __ATOMIC_RELAXED) < 10 * THREADS)
        usleep(1000);
}

static void *aborts(void *arg)
{
    MPI_Abort(MPI_COMM_WORLD, 9);
    return arg;
}

/* Returns when the store holds up the write-back of another thread's MPI_Abort. */
static void abort_elsewhere(void)
{
    const char *hold = getenv("FAULTSHIM_HOLD");
    char note[4096];
    pthread_t thread;

    snprintf(note, sizeof note, "%s.%ld", hold ? hold : "", (long)getpid());
    CHECK(pthread_create(&thread, NULL, aborts, NULL) == 0);
    while (access(note, F_OK))
        usleep(1000);
}

/* One rank has gone. The others end as the library ends them, or here. */
static void others(void)
{
    MPI_Status status;
    int word;

    if (is("late")) {
        for (int i = BLOCKS; i < 2 * BLOCKS; i++)
            write_block(i);
        exit(0);
    }
    MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
    exit(6);
}

static void one_ends(void)
{
    if (t_rank != (is("abortother") ? t_size - 1 : 0))
        others();
    if (is("abortexit") || is("aborttwice"))
        abort_elsewhere();
    if (is("abort") || is("abortother") || is("aborttwice"))
        MPI_Abort(MPI_COMM_WORLD, 9);
    if (is("_exit"))
        _exit(0);
    if (is("kill") || is("synced"))
        raise(SIGKILL);
    if (is("crash"))
        abort();
    exit(0);
}

static void all_end(void)
{
    char *const argv[] = {"true", NULL};

    if (is("inside"))
        write_elsewhere();
    if (is("inside") || is("exit") || is("handler") || is("destructor"))
        exit(0);
    if (is("status"))
        exit(5);
    if (is("quick"))
        quick_exit(0);
    if (is("finalize"))
        MPI_Finalize();
    if (is("exec"))
        execl("/bin/true", "true", (char *)NULL);
    if (is("execvp"))
        execvp("true", argv);
    if (is("execfails")) {
        CHECK(execlp("/nowhere/true", "true", (char *)NULL) == -1);
        write_block(0);
        OK(MPI_File_close(&fh));
        MPI_Finalize();
    }
    if (is("abortall"))
        MPI_Abort(MPI_COMM_WORLD, 9);
}

static int is_threaded(void)
{
    return is("abortexit") || is("aborttwice") || is("inside");
}

int main(int argc, char **argv)
{
    static const char *const by_all[] = {"return",    "finalize", "exit",       "status",
                                         "handler",   "exec",     "execvp",     "abortall",
                                         "execfails", "quick",    "destructor", "inside"};
    const char *name;

    atexit(close_late); /* before MPI is there, as libraries do */
    way = argc > 2 ? argv[2] : "return";
    name = t_begin(argc, argv, is_threaded() ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    words = argv + (argc > 2 ? 3 : argc);
    open_file(name);
    for (int i = 0; i < BLOCKS; i++)
        write_block(i);
    if (is("synced"))
        OK(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d is about to end\n", t_rank);
    if (is("fork"))
        child_exits();
    for (size_t i = 0; i < sizeof by_all / sizeof *by_all; i++)
        if (is(by_all[i])) {
            all_end();
            return t_failures != 0;
        }
    one_ends();
    return 1;
}
