/* The items of a datatype; see the header. */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "zc_log.h"
#include "zcache_type_args.h"
#include "zcache_type_items.h"

/* Sets the two items of a predefined pair. */
static bool is_pair(MPI_Datatype type, MPI_Datatype items[2])
{
    const MPI_Datatype pairs[][3] = {
        {MPI_FLOAT_INT, MPI_FLOAT, MPI_INT},
        {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
        {MPI_LONG_INT, MPI_LONG, MPI_INT},
        {MPI_2INT, MPI_INT, MPI_INT},
        {MPI_SHORT_INT, MPI_SHORT, MPI_INT},
        {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT},
        {MPI_2REAL, MPI_REAL, MPI_REAL},
        {MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER},
        {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION},
#ifdef MPI_2COMPLEX
        {MPI_2COMPLEX, MPI_COMPLEX, MPI_COMPLEX},
        {MPI_2DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX},
#endif
    };

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (pairs[i][0] != MPI_DATATYPE_NULL && pairs[i][0] == type) {
            items[0] = pairs[i][1];
            items[1] = pairs[i][2];
            return true;
        }
    return false;
}

static int make_parts(struct zcache_type_items *t, int n)
{
    t->parts = calloc((size_t)n + 1, sizeof *t->parts);
    return t->parts ? 0 : zc_errorf(ENOMEM, "no memory to look at a datatype");
}

static void set_item(struct zcache_type_items *t, MPI_Datatype item)
{
    *t = (struct zcache_type_items){.item = item, .times = 1};
}

static int predefined(MPI_Datatype type, struct zcache_type_items *t)
{
    MPI_Datatype pair[2];
    MPI_Count size = 0;

    if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS)
        return zc_errorf(EINVAL, "no size of a datatype");
    if (!is_pair(type, pair)) {
        t->item = size > 0 ? type : MPI_DATATYPE_NULL; /* MPI_LB and MPI_UB are no items */
        return 0;
    }
    if (make_parts(t, 2))
        return -ENOMEM;
    t->nparts = 2;
    set_item(&t->parts[0], pair[0]);
    set_item(&t->parts[1], pair[1]);
    return 0;
}

/* Makes those of a struct: `lengths` of each child. */
static int members(const struct zcache_type_args *a, const int64_t *lengths,
                   struct zcache_type_items *t)
{
    int rc = make_parts(t, a->ntypes);

    for (int i = 0; rc == 0 && i < a->ntypes; i++) {
        struct zcache_type_items *part = &t->parts[t->nparts];

        if (lengths[i] == 0)
            continue;
        rc = zcache_type_items_get(a->types[i], part);
        if (rc == 0) {
            part->times *= lengths[i];
            t->nparts++;
        }
    }
    return rc;
}

/* How many times a type has its only child is the ratio of the sizes, whatever the constructor. */
static int repeat(MPI_Datatype type, const struct zcache_type_args *a, struct zcache_type_items *t)
{
    MPI_Count all, one;
    int rc;

    if (a->ntypes != 1 || PMPI_Type_size_x(type, &all) != MPI_SUCCESS ||
        PMPI_Type_size_x(a->types[0], &one) != MPI_SUCCESS)
        return zc_errorf(EINVAL, "a datatype of an unknown kind");
    rc = zcache_type_items_get(a->types[0], t);
    if (rc == 0)
        t->times *= one > 0 ? all / one : 0;
    return rc;
}

int zcache_type_items_get(MPI_Datatype type, struct zcache_type_items *items)
{
    struct zcache_type_args a;
    int rc = zcache_type_args_get(type, &a);

    *items = (struct zcache_type_items){.item = MPI_DATATYPE_NULL, .times = 1};
    if (rc)
        return rc;
    if (!a.types)
        rc = predefined(type, items);
    else if (a.combiner == MPI_COMBINER_STRUCT)
        rc = members(&a, a.v + 1, items);
    else
        rc = repeat(type, &a, items);
    zcache_type_args_free(&a);
    if (rc)
        zcache_type_items_free(items);
    return rc;
}

void zcache_type_items_free(struct zcache_type_items *items)
{
    for (int i = 0; i < items->nparts; i++)
        zcache_type_items_free(&items->parts[i]);
    free(items->parts);
    *items = (struct zcache_type_items){.item = MPI_DATATYPE_NULL};
}
