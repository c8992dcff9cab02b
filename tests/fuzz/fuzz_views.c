/* fuzz_views.c - any bytes as a view or a list: memory, mappings, copies, and bytes again.
 *
 * The first byte chooses displacement, page size and how many bytes are copied; the rest is the
 * encoding.  A view has at most 2^62 visible bytes in a tile, so that what is walked is a few
 * pieces, at its beginning and at chosen places.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "zc_log.h"
#include "zc_view_test.h"
#include "zc_vspan.h"

enum {
    WALK = 200,       /* pieces */
    WINDOW = 8 << 10, /* bytes of the file that are looked at */
};

/* ---- memory that is in use ---- */

#if defined(__SANITIZE_ADDRESS__)
#define COUNTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COUNTED 1
#endif
#endif

static _Thread_local size_t used, most;

#ifdef COUNTED
size_t __sanitizer_get_allocated_size(const volatile void *p);
void __sanitizer_malloc_hook(const volatile void *p, size_t size);
void __sanitizer_free_hook(const volatile void *p);

/* Called by the sanitizer. */
void __sanitizer_malloc_hook(const volatile void *p, size_t size)
{
    (void)p;
    used += size;
    most = used > most ? used : most;
}

void __sanitizer_free_hook(const volatile void *p)
{
    used -= p ? __sanitizer_get_allocated_size(p) : 0;
}
#endif

/* ---- decoding ---- */

static int decode(const uint8_t *data, size_t len, size_t memory, struct zc_view **v)
{
    int rc;

    zc_error_clear();
    used = most = 0;
    rc = zc_view_decode(data, len, memory, v);
    REQUIRE(rc == 0 || rc == -EPROTO, "%d", rc);
    /* a sanitizer's realloc() makes a copy, also of what becomes smaller */
    REQUIRE(most / 2 <= memory, "%zu bytes of memory, %zu were announced", most, memory);
    return rc;
}

/* What zc_view_decoding() says is enough, and one byte less is not. */
static void decode_within(const struct zc_view *v, const uint8_t *data, size_t len)
{
    size_t need = zc_view_decoding(v);
    struct zc_view *again;

    REQUIRE(zc_view_memory(v) <= need, "%zu, of %zu", zc_view_memory(v), need);
    REQUIRE(decode(data, len, need, &again) == 0, "%zu bytes: %s", need, zc_error_text(EPROTO));
    REQUIRE(zc_view_equal(v, again), "decoded once more");
    REQUIRE(zc_view_decoding(again) == need, "%zu", need);
    zc_view_put(again);
    REQUIRE(decode(data, len, need - 1, &again) == -EPROTO, "%zu bytes are enough", need - 1);
}

/* A list may say that its entries differ when they do not (zc_view_list.c writes such), so that the
 * bytes may be others; but once written they are the same for ever. */
static void encode_again(const struct zc_view *v, size_t len)
{
    size_t n = zc_view_encoded(v);
    uint8_t *bytes = malloc(n), *same = malloc(n);
    struct zc_view *again;

    REQUIRE(bytes && same && n <= len, "%zu bytes became %zu", len, n);
    REQUIRE(zc_view_encode(v, bytes, n - 1) == -ENOSPC, "%zu", n);
    REQUIRE(zc_view_encode(v, bytes, n) == 0, "%zu", n);
    REQUIRE(decode(bytes, n, SIZE_MAX, &again) == 0, "%s", zc_error_text(EPROTO));
    REQUIRE(zc_view_equal(v, again) && zc_view_encoded(again) == n, "%zu bytes", n);
    REQUIRE(zc_view_encode(again, same, n) == 0 && memcmp(same, bytes, n) == 0, "%zu bytes", n);
    zc_view_put(again);
    decode_within(v, bytes, n);
    free(bytes);
    free(same);
}

/* ---- mappings ---- */

/* A piece at this view offset: both mappings know both its ends. */
static void check_piece(const struct zc_view *v, int64_t disp, int64_t view_off, int64_t off,
                        int64_t len)
{
    int64_t x;

    REQUIRE(zc_view_to_file(v, disp, view_off, &x) == 0 && x == off, "byte %lld lies at %lld",
            (long long)view_off, (long long)off);
    REQUIRE(zc_view_to_file(v, disp, view_off + len - 1, &x) == 0 && x == off + len - 1,
            "byte %lld", (long long)(view_off + len - 1));
    if (!zc_view_monotone(v) || off < 0)
        return;
    REQUIRE(zc_view_before(v, disp, off, &x) == 0 && x == view_off, "%lld bytes before %lld",
            (long long)x, (long long)off);
    REQUIRE(zc_view_before(v, disp, off + len - 1, &x) == 0 && x == view_off + len - 1,
            "%lld bytes before %lld", (long long)x, (long long)(off + len - 1));
}

static void walk(const struct zc_view *v, int64_t disp, int64_t view_off)
{
    struct zc_view_iter it;
    int64_t off, len, x, last = INT64_MIN;
    int rc = zc_view_start(&it, v, disp, view_off);
    int mapped = zc_view_to_file(v, disp, view_off, &x);

    if (zc_view_size(v) == 0) {
        REQUIRE(rc == -ERANGE && mapped == -ERANGE, "%d, %d", rc, mapped);
        return;
    }
    for (int i = 0; i < WALK && rc == 0; i++) {
        rc = zc_view_next(&it, INT64_MAX, &off, &len);
        if (i == 0)
            REQUIRE(rc == mapped, "%d, and %d", rc, mapped);
        if (rc)
            break;
        REQUIRE(len > 0 && off <= INT64_MAX - len + 1, "%lld at %lld", (long long)len,
                (long long)off);
        REQUIRE(!zc_view_monotone(v) || off > last, "%lld behind %lld", (long long)off,
                (long long)last);
        if (len > INT64_MAX - view_off || zc_view_contiguous(v))
            return;
        check_piece(v, disp, view_off, off, len);
        last = off + len - 1;
        view_off += len;
    }
    REQUIRE(rc == 0 || rc == -EOVERFLOW, "%d", rc);
}

/* What zc_vspan() says lies in one page does. */
static void span(const struct zc_view *v, int64_t disp, int64_t view_off, uint64_t unit)
{
    int64_t first, len, x, last;
    int64_t max = view_off < INT64_MAX - (1 << 18) ? 1 << 18 : INT64_MAX - view_off;
    int rc = zc_vspan(v, disp, view_off, max, unit, &first, &len);

    if (zc_view_to_file(v, disp, view_off, &x)) {
        REQUIRE(rc < 0, "%d", rc);
        return;
    }
    if (rc)
        return;
    REQUIRE(first == x && len > 0 && len <= max, "%lld at %lld", (long long)len, (long long)first);
    REQUIRE(zc_view_to_file(v, disp, view_off + len - 1, &last) == 0, "%lld",
            (long long)(view_off + len - 1));
    REQUIRE(first < 0 || (uint64_t)first / unit == (uint64_t)last / unit, "%lld to %lld",
            (long long)first, (long long)last);
}

/* ---- copies ---- */

/* The bytes that a scatter writes are those zc_view_touched() names, and a gather finds them. */
static void copy(const struct zc_view *v, int64_t disp, int64_t view_off, int64_t len)
{
    static uint8_t src[4096], back[4096], file[WINDOW];
    struct zc_view_ranges touched = {0};
    int64_t at, n;
    uint32_t r = 0;

    if (zc_view_to_file(v, disp, view_off, &at) || at < 0 || at > INT64_MAX - WINDOW)
        return;
    memset(src, 0x5a, sizeof src);
    memset(file, 0, sizeof file);
    memset(back, 0, sizeof back);
    n = zc_view_scatter(v, disp, view_off, src, len, file, at, WINDOW);
    if (n < 0) {
        REQUIRE(n == -EOVERFLOW, "%lld", (long long)n);
        return;
    }
    REQUIRE(zc_view_touched(v, disp, view_off, len, at, WINDOW, &touched) == 0, "%lld bytes",
            (long long)len);
    for (uint32_t i = 0; i < WINDOW; i++) {
        while (r < touched.n && i >= touched.r[r].hi)
            r++;
        REQUIRE((file[i] != 0) == (r < touched.n && i >= touched.r[r].lo), "byte %u", i);
    }
    REQUIRE(zc_view_gather(v, disp, view_off, back, len, file, at, WINDOW) == n, "%lld",
            (long long)n);
    for (int64_t i = 0; i < len; i++)
        n -= back[i] == 0x5a;
    REQUIRE(n == 0, "%lld bytes are not the same", (long long)n);
    free(touched.r);
}

static void use(const struct zc_view *v, uint8_t choice)
{
    static const int64_t displacements[] = {0, 1, 4096, 1000003, INT64_C(1) << 40, INT64_MAX};
    int64_t disp = displacements[choice % 6], size = zc_view_size(v);
    const int64_t places[] = {
        0, 1, size / 2, size - 1, size, size + 1, 2 * (size / 3), INT64_MAX / 2, INT64_MAX - 1};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int64_t place = places[i] > 0 ? places[i] : 0;

        walk(v, disp, place);
        span(v, disp, place, choice & 64 ? 4096 : 65536);
        if (size > 0 && place <= INT64_MAX - 4096)
            copy(v, disp, place, choice & 128 ? 4096 : 100);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct zc_view *v, *list;
    int rc, as_list;

    if (len == 0)
        return 0;
    rc = decode(data + 1, len - 1, 40 * (len - 1) + 1024, &v);
    as_list = zc_view_decode_list(data + 1, len - 1, &list);
    REQUIRE(rc == as_list, "%d as a view, %d as a list", rc, as_list);
    if (rc)
        return 0;
    REQUIRE(zc_view_size(v) == zc_view_size(list), "%lld bytes", (long long)zc_view_size(v));
    zc_view_put(list);
    encode_again(v, len - 1);
    use(v, data[0]);
    zc_view_put(v);
    return 0;
}
