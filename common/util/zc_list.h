/* zc_list.h - an intrusive doubly linked list: LRU, dirty list, queues of waiters.
 *
 * A node belongs to at most one list at a time; zc_list_del() leaves it
 * pointing at itself, so zc_list_linked() tells and a second del does no harm.  All of it inline.
 */
#ifndef ZC_LIST_H
#define ZC_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct zc_list {
    struct zc_list *next, *prev;
};

#define zc_list_entry(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

static inline void zc_list_init(struct zc_list *l)
{
    l->next = l->prev = l;
}

static inline bool zc_list_empty(const struct zc_list *l)
{
    return l->next == l;
}

static inline bool zc_list_linked(const struct zc_list *n)
{
    return n->next != n;
}

static inline void zc_list_add_tail(struct zc_list *head, struct zc_list *n)
{
    n->prev = head->prev;
    n->next = head;
    head->prev->next = n;
    head->prev = n;
}

static inline void zc_list_del(struct zc_list *n)
{
    n->prev->next = n->next;
    n->next->prev = n->prev;
    zc_list_init(n);
}

/* Removes and returns the first node; NULL if the list is empty. */
static inline struct zc_list *zc_list_pop(struct zc_list *head)
{
    struct zc_list *n = head->next;

    if (n == head)
        return NULL;
    zc_list_del(n);
    return n;
}

/* Moves every node of `from` to the end of `to`. */
static inline void zc_list_splice(struct zc_list *to, struct zc_list *from)
{
    if (zc_list_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    zc_list_init(from);
}

#define zc_list_each(head, n) for (struct zc_list *n = (head)->next; n != (head); n = n->next)

/* The node may be deleted from the list inside the loop. */
#define zc_list_each_safe(head, n)                                                                 \
    for (struct zc_list *n = (head)->next, *n##_next = n->next; n != (head);                       \
         n = n##_next, n##_next = n->next)

#endif
