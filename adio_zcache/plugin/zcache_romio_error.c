/*
 * Error codes for ROMIO.
 *
 * ROMIO names its errors by keys of the catalogue of messages inside MPICH ("**iobadoffset"), which
 * a plugin cannot reach. This is the part of it that ROMIO uses, in words of our own.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "adio.h"
#include "zcache_error.h"

static const struct {
    const char *key;
    const char *text;
} texts[] = {
    {"allocmem", "no memory"},
    {"arg", "invalid argument"},
    {"commnotintra", "the communicator must be an intracommunicator"},
    {"commnull", "null communicator"},
    {"datarepextent", "a data representation needs a function that tells extents"},
    {"datarepname", "invalid name of a data representation"},
    {"datarepused", "this data representation is registered already"},
    {"drconvnotsupported", "conversion functions of data representations are not supported"},
    {"dtypenull", "null datatype"},
    {"fileaccess", "access to the file is denied"},
    {"fileamodediff", "the access mode must be the same on all processes"},
    {"fileamodeone", "the access mode must have one of MPI_MODE_RDONLY, _WRONLY and _RDWR"},
    {"fileamoderead", "MPI_MODE_RDONLY goes with neither MPI_MODE_CREATE nor MPI_MODE_EXCL"},
    {"fileamodeseq", "MPI_MODE_SEQUENTIAL does not go with MPI_MODE_RDWR"},
    {"fileexist", "the file exists"},
    {"filename", "invalid file name, or no such directory"},
    {"filenamedir", "the name, or a part of the path, is not of the right kind"},
    {"filenamelong", "the file name is too long"},
    {"filenoexist", "the file does not exist"},
    {"filenospace", "no space left for the file"},
    {"fileopunsupported", "the file system does not support this operation"},
    {"filequota", "quota exceeded"},
    {"flag", "invalid flag"},
    {"info", "invalid info object"},
    {"initialized", "MPI is not initialized"},
    {"io", "input/output error"},
    {"ioRMWrdwr", "this access reads before it writes; open the file with MPI_MODE_RDWR"},
    {"ioagnomatch", "cb_config_list matches no process"},
    {"ioamodeseq", "not allowed on a file opened with MPI_MODE_SEQUENTIAL"},
    {"iobadcount", "invalid count"},
    {"iobaddisp", "invalid displacement"},
    {"iobadfh", "invalid file handle"},
    {"iobadoffset", "invalid offset"},
    {"iobadoverlap", "the file type overlaps itself, which is not allowed for writing"},
    {"iobadsize", "invalid size"},
    {"iobadwhence", "invalid whence"},
    {"iodatarepnomem", "no memory for the data representation"},
    {"iodispifseq", "MPI_DISPLACEMENT_CURRENT and MPI_MODE_SEQUENTIAL need each other"},
    {"ioetype", "only whole elements of the etype can be accessed"},
    {"iofiletype", "the file type must be made of whole etypes"},
    {"iofstypeunsupported", "unknown file system prefix (that of zcache is zcache:)"},
    {"ioneedrd", "read-only file or file system"},
    {"ionegoffset", "the result would be a negative offset"},
    {"iopreallocrdwr", "the file must be opened with MPI_MODE_RDWR to be preallocated"},
    {"iordonly", "the file was opened for reading only"},
    {"iorsrc", "reading failed on another process, or while data were exchanged"},
    {"iosequnsupported", "MPI_MODE_SEQUENTIAL is not supported on this file system"},
    {"iosharedfailed", "the shared file pointer could not be reached"},
    {"iosharedunsupported", "shared file pointers are not supported on this file system"},
    {"iosplitcoll", "a split collective operation is under way on this file"},
    {"iosplitcollnone", "no split collective operation is under way on this file"},
    {"iowronly", "the file was opened for writing only"},
    {"iowsrc", "reading before writing failed while data were exchanged"},
    {"iowswc", "writing failed while data were exchanged"},
    {"mpi_grequest_complete", "a generalized request could not be completed"},
    {"nomem2", "no memory"},
    {"notsame", "the values must be the same on all processes"},
    {"nullptr", "null pointer"},
    {"oremote_fail", "the file could not be opened on another process"},
    {"request", "invalid request"},
    {"unsupporteddatarep", "unknown data representation"},
};

/* The words for KEY, which ends at a space or the end of the string. */
static const char *text_of(const char *key)
{
    size_t len = strcspn(key, " ");

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (strlen(texts[i].key) == len && !strncmp(texts[i].key, key, len))
            return texts[i].text;
    }
    return NULL;
}

int MPIO_Err_create_code(int lastcode, int fatal, const char fn[], int line, int mpi_class,
                         const char generic[], const char specific[], ...)
{
    const char *msg = specific ? specific : generic;
    const char *key = msg + strspn(msg, "*");
    const char *words = NULL;
    char detail[MPI_MAX_ERROR_STRING] = "";
    va_list args;

    (void)fatal;
    (void)line;
    /* An error on top of another keeps the first: it is nearer to the cause. */
    if (lastcode != MPI_SUCCESS)
        return lastcode;
    if (key != msg) {
        words = text_of(key);
        if (!words)
            words = key;
        key += strcspn(key, " ");
        key += strspn(key, " ");
    }
    if (specific) {
        va_start(args, specific);
        vsnprintf(detail, sizeof(detail), key, args);
        va_end(args);
    } else if (!words) {
        words = generic;
    }
    return zcache_mpi_errorf(mpi_class, "%s: %s%s%s", fn, words ? words : "",
                             words && *detail ? ": " : "", detail);
}
