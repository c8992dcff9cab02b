/* test_way.c - which way the bytes of a transfer go. */
#include "config.h"

#include "check_main.h"
#include "zc_ring.h"
#include "zc_way.h"

enum { PAGE = 1 << 20, ROOM = 16128 };

/* A transfer of so many bytes to another process, contiguous in the file. */
static struct zc_way_ask ask(bool write, size_t len)
{
    return (struct zc_way_ask){
        .write = write, .plain = true, .len = len, .page = PAGE, .room = ROOM};
}

static void expect(struct zc_way_ask a, enum zc_way first, enum zc_way by_message)
{
    ck_assert_int_eq(zc_way(&a), first);
    a.message = true;
    ck_assert_int_eq(zc_way(&a), by_message);
    a.own = true;
    ck_assert_int_eq(zc_way(&a), ZC_WAY_CALL);
}

START_TEST(reads_look_at_pages)
{
    struct zc_way_ask scattered = ask(false, 10);

    expect(ask(false, 1), ZC_WAY_PEEK, ZC_WAY_INLINE);
    expect(ask(false, ROOM), ZC_WAY_PEEK, ZC_WAY_INLINE);
    expect(ask(false, ROOM + 1), ZC_WAY_PEEK, ZC_WAY_RMA);
    expect(ask(false, PAGE), ZC_WAY_PEEK, ZC_WAY_RMA);
    expect(ask(false, PAGE + 1), ZC_WAY_RMA, ZC_WAY_RMA);
    scattered.plain = false;
    expect(scattered, ZC_WAY_INLINE, ZC_WAY_INLINE);
}
END_TEST

START_TEST(writes_go_into_the_ring)
{
    struct zc_way_ask checked = ask(true, 10), scattered = ask(true, PAGE);

    expect(ask(true, 1), ZC_WAY_RING, ZC_WAY_INLINE);
    expect(ask(true, ZC_RING_ENTRY_MAX), ZC_WAY_RING, ZC_WAY_RMA);
    expect(ask(true, ZC_RING_ENTRY_MAX + 1), ZC_WAY_RMA, ZC_WAY_RMA);
    checked.checked = true;
    expect(checked, ZC_WAY_INLINE, ZC_WAY_INLINE);
    scattered.plain = false;
    expect(scattered, ZC_WAY_RING, ZC_WAY_RMA);
    scattered.large = true;
    expect(scattered, ZC_WAY_RMA, ZC_WAY_RMA);
}
END_TEST

/* Of a file that this process may read itself; tiny reads are served from a piece of a page. */
START_TEST(some_reads_are_made_from_the_file)
{
    struct zc_way_ask a = ask(false, 4096), mine = a, tiny = ask(false, 64), scattered = a,
                      write = ask(true, 4096);

    a.file = mine.file = tiny.file = scattered.file = write.file = mine.own = true;
    scattered.plain = false;
    expect(a, ZC_WAY_FILE, ZC_WAY_INLINE);
    expect(mine, ZC_WAY_FILE, ZC_WAY_CALL);
    expect(tiny, ZC_WAY_PEEK, ZC_WAY_INLINE);
    expect(scattered, ZC_WAY_INLINE, ZC_WAY_INLINE);
    expect(write, ZC_WAY_RING, ZC_WAY_INLINE);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("way");

    CASE(s, "ways", 10, reads_look_at_pages, writes_go_into_the_ring,
         some_reads_are_made_from_the_file);
    return run_suite(s);
}
