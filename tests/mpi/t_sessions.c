/*
 * A program that has a session alone (MPI-4), and an error handler for opens that fail: t_sessions
 * FILE prints what the calls return, which is to be the same with the plugin as without it, as long
 * as FILE is none of zcache's.
 */
#include <mpi.h>
#include <stdio.h>

#if MPI_VERSION >= 4

static int calls;

static void handler(MPI_File *fh, int *code, ...)
{
    (void)fh;
    (void)code;
    calls++;
}

static int class_of(int rc)
{
    int class = -1;

    MPI_Error_class(rc, &class);
    return class;
}

static void open_file(MPI_Comm comm, const char *name)
{
    MPI_File fh = MPI_FILE_NULL;
    int rc = MPI_File_open(comm, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);

    printf("%s: class %d, %d calls of the handler\n", name, class_of(rc), calls);
    if (rc == MPI_SUCCESS)
        MPI_File_close(&fh);
}

static void session(const char *name)
{
    MPI_Errhandler errh;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    MPI_Comm_create_from_group(group, "t_sessions", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_File_create_errhandler(handler, &errh);
    printf("set: class %d\n", class_of(MPI_File_set_errhandler(MPI_FILE_NULL, errh)));
    open_file(comm, "/nowhere/file");
    open_file(comm, "zcahce:/nowhere/file");
    open_file(comm, name);
    MPI_Errhandler_free(&errh);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    (void)argc;
    session(argv[1]);
    return 0;
}

#else

int main(void)
{
    printf("MPI %d has no sessions\n", MPI_VERSION);
    return 0;
}

#endif
