/* hostile.c - builds messages from steps, and has peers send them over the loop transport.
 *
 * Every reply must be a valid message; its numbers are remembered, so that steps can use handles,
 * views and locks that are live, closed, or another session's.
 */
#include "config.h"

#include "hostile.h"
#include "zc_crc.h"
#include "zc_view.h"

static const uint64_t edges[] = {SESSION_NUMBERS};
static const uint8_t types[] = {SESSION_TYPES};

enum { NEDGES = sizeof edges / sizeof *edges, NTYPES = sizeof types / sizeof *types };

static uint64_t number(uint8_t b)
{
    return b < NEDGES ? edges[b] : (uint64_t)(b - NEDGES) * 997;
}

static void remember(struct numbers *l, uint64_t n)
{
    l->n[l->count++ % REMEMBERED] = n;
}

/* A number that was seen; from 192 on: a neighbour of one, or an invented one. */
static uint64_t recall(const struct numbers *l, uint8_t b)
{
    unsigned known = l->count < REMEMBERED ? l->count : REMEMBERED;
    uint64_t n = known ? l->n[b % known] : 0;

    if (b < 192)
        return n;
    switch (b % 8) {
    case 0:
        return 0;
    case 1:
        return n + 1;
    case 2:
        return n + (UINT64_C(1) << 32); /* of a later generation */
    case 3:
        return n - (UINT64_C(1) << 32);
    case 4:
        return n ^ (UINT64_C(1) << 63); /* an export, or no longer one */
    case 5:
        return UINT64_MAX;
    case 6:
        return UINT32_MAX;
    default:
        return UINT64_C(1) << 63 | UINT64_C(1) << 32 | 1;
    }
}

/* ---- views that are sent ---- */

enum { VIEWS = 11, VIEW_BYTES = 4096 };

static struct sample {
    unsigned char bytes[VIEW_BYTES];
    size_t len, memory;
    struct zc_view_hash hash;
} samples[VIEWS];

static struct zc_view_builder *begin(void)
{
    struct zc_view_builder *b;

    ck_assert_int_eq(zc_view_builder_create(&b), 0);
    return b;
}

static void end(struct sample *s, struct zc_view_builder *b, int64_t extent)
{
    struct zc_view *v;

    ck_assert_int_eq(zc_view_finish(b, extent, &v), 0);
    s->len = zc_view_encoded(v);
    s->memory = zc_view_decoding(v);
    s->hash = zc_view_hash(v);
    ck_assert_int_eq(zc_view_encode(v, s->bytes, sizeof s->bytes), 0);
    zc_view_put(v);
}

static void run(struct sample *s, int64_t len, int64_t stride, int64_t count, int64_t extent)
{
    struct zc_view_builder *b = begin();

    ck_assert_int_eq(zc_view_add_run(b, 0, len, stride, count), 0);
    end(s, b, extent);
}

/* Pieces of 8 bytes, or of `more` bytes more each. */
static void irregular(struct sample *s, int64_t step, int64_t more)
{
    struct zc_view_builder *b = begin();

    for (int64_t i = 0; i < 300; i++)
        ck_assert_int_eq(zc_view_add(b, i * step + i * i % 5, 8 + i * i % 7 * more), 0);
    end(s, b, 300 * step + 1000);
}

static void make_samples(void)
{
    if (samples[0].len)
        return;
    run(&samples[0], 64, 128, 1, 128);
    run(&samples[1], 8, 32, 20, 4096);
    run(&samples[2], 1, 1, 100000, 100000);
    run(&samples[3], 3000, 5000, 9, 50000);
    irregular(&samples[4], 40, 0);
    irregular(&samples[5], 3, 0); /* pieces overlap */
    run(&samples[6], 8, 0, INT64_C(1) << 40, 64);
    run(&samples[7], 1, INT64_C(1) << 30, INT64_C(1) << 31, INT64_MAX / 2 + 1);
    run(&samples[8], 40000, 100000, 4, 400000);
    end(&samples[9], begin(), 0);
    irregular(&samples[10], 70, 9);
}

/* ---- sessions of hostile peers ---- */

static struct opened *opened(struct crowd *c, uint64_t session)
{
    for (unsigned i = 0; i < c->nopened; i++)
        if (c->opened[i].session == session)
            return &c->opened[i];
    return NULL;
}

static uint64_t next_tag(struct crowd *c)
{
    return zc_tag(1, ++c->next_tag);
}

static uint64_t session_in(const unsigned char *buf)
{
    uint64_t session = 0;

    for (int i = 7; i >= 0; i--)
        session = session << 8 | buf[16 + i];
    return session;
}

/* Adds a valid MAC, as if the sender had meant the message. */
static void seal(struct crowd *c, struct hostile *h, unsigned char *buf, size_t len)
{
    struct opened *o;

    if (len < ZC_HEADER_SIZE + ZC_MAC_SIZE)
        return;
    o = opened(c, session_in(buf));
    if (buf[4] == ZC_T_HELLO)
        zc_handshake_begin(&h->shake, &rig_secret, buf, len);
    else if (o && buf[4] != ZC_T_AUTH)
        zc_mac_put(&o->keys, buf, len);
}

static void seal_anew(struct crowd *c, struct hostile *h, unsigned char *buf, size_t len)
{
    uint64_t tag = next_tag(c);

    for (size_t i = 0; i < 8 && 8 + i < len; i++)
        buf[8 + i] = (unsigned char)(tag >> 8 * i);
    seal(c, h, buf, len);
}

/* Handles R-HELLO: AUTH is next, if the server has understood our last message. */
static void greeted(struct crowd *c, struct hostile *h, const struct zc_msg *m, const void *bytes,
                    size_t len)
{
    unsigned char proof[ZC_PROOF_SIZE], buf[128];
    struct zc_msg auth = {.type = ZC_T_AUTH,
                          .tag = next_tag(c),
                          .session = m->session,
                          .proof = {proof, sizeof proof}};
    int n;

    if (m->status || c->nopened == MANY_SESSIONS ||
        !zc_handshake_check_answer(&h->shake, bytes, len)) {
        h->answered = m->tag;
        return;
    }
    h->greeted = m->tag;
    zc_handshake_prove(&h->shake, proof);
    c->opened[c->nopened].session = m->session;
    zc_handshake_keys(&h->shake, false, false, &c->opened[c->nopened++].keys);
    n = zc_msg_encode(&auth, buf, sizeof buf);
    ck_assert_int_eq(zc_tp_send(h->tp, h->server, buf, (size_t)n), 0);
}

/* ---- a message ---- */

/* Chooses the remote memory of the message, real or claimed. */
static void key(struct zc_msg *m, struct crowd *c, struct hostile *h, uint8_t b)
{
    struct hostile *other = &c->h[(h - c->h + 1) % HOSTILES];

    m->raddr = h->mr.raddr;
    m->rkey = h->mr.rkey;
    switch (b % 8) {
    case 1:
        m->raddr += b;
        break;
    case 2:
        m->raddr += HOSTILE_MEMORY - b;
        break;
    case 3:
        m->raddr = other->mr.raddr;
        m->rkey = other->mr.rkey;
        break;
    case 4:
        m->rkey ^= b;
        break;
    case 5:
        m->raddr = h->old.raddr;
        m->rkey = h->old.rkey;
        break;
    case 6:
        m->raddr = number(b);
        break;
    case 7:
        m->raddr = UINT64_MAX - b;
        break;
    }
}

static void open_fields(struct zc_msg *m, const struct step *s)
{
    static const char *const paths[] = {"/a", "/b", "/c", HONEST_PATH, "", "/a/../b", "/a", "/b"};
    static char name[ZC_MAX_PATH];

    memset(name, 'n', sizeof name);
    m->path = (struct zc_bytes){paths[s->path & 7], (uint32_t)strlen(paths[s->path & 7])};
    if (s->path == 255)
        m->path = (struct zc_bytes){name, sizeof name};
    /* 0: for reading and writing, to be created; four more flags come from `what` */
    m->open_flags = (s->path >> 3) ^ (ZC_OPEN_READ | ZC_OPEN_WRITE | ZC_OPEN_CREATE);
    m->open_flags |= s->what & 16 ? ZC_OPEN_STEP_READER : 0;
    m->open_flags |= s->what & 32 ? ZC_OPEN_STEPS : 0;
    m->open_flags |= s->what & 64 ? ZC_OPEN_THROUGH : 0;
    m->open_flags |= s->what & 128 ? ZC_OPEN_EXPORTED : 0;
    m->mode = 0644;
    m->block_size = number(s->size);
    m->stride = number(s->len);
    m->set = s->disp % 3;
    m->daemon = s->extra & 3;
    m->daemons = s->extra >> 2;
}

static void payload(struct zc_msg *m, const struct step *s, struct hostile *h)
{
    static unsigned char bytes[ZC_MAX_MESSAGE], damaged[VIEW_BYTES];
    const struct sample *v = &samples[(s->payload & 15) % VIEWS];

    m->view_low = v->hash.low;
    m->view_high = v->hash.high;
    m->list = (struct zc_bytes){v->bytes, (uint32_t)v->len};
    if (s->payload & 16) {
        memcpy(damaged, v->bytes, v->len);
        damaged[s->extra % v->len] ^= (unsigned char)(1 + s->off);
        m->list.p = damaged;
    }
    memset(bytes, s->extra, sizeof bytes);
    m->data = (struct zc_bytes){bytes, m->len < ZC_MAX_INLINE ? (uint32_t)m->len : ZC_MAX_INLINE};
    if (m->type == ZC_T_VIEW_INSTALL) {
        m->memory = s->size ? number(s->size) : v->memory;
        m->size = v->len;
        m->data = m->list;
        m->view_low += s->disp; /* a different hash, except for 0 */
    }
    if (m->type == ZC_T_RENDEZVOUS) {
        m->data.n = s->extra;
        m->job = (struct zc_bytes){"a job of hostile processes", 4 + s->payload % 16};
    }
    if (m->type == ZC_T_LIST_WRITE && m->data.n > ZC_MAX_INLINE - m->list.n)
        m->data.n = ZC_MAX_INLINE - m->list.n;
    if (m->flags & ZC_F_RMA && !(s->payload & 32)) {
        m->data.n = 0;
        if (m->type == ZC_T_VIEW_INSTALL && h->memory)
            m->raddr += (uint64_t)(v - samples) * VIEW_BYTES / 4;
    } else if (s->payload & 32) {
        m->data.n /= 2;
    }
}

/* Adds checksums, which are right for bytes in the message and wrong for remote memory. */
static void sums(struct zc_msg *m)
{
    static unsigned char all[ZC_MAX_CSUMS * ZC_CSUM_SIZE];
    bool writes = m->type == ZC_T_WRITE || m->type == ZC_T_VWRITE || m->type == ZC_T_LIST_WRITE;
    uint64_t n = 1;

    if (!(m->flags & ZC_F_SUMS) || !writes || zc_crc_load())
        return;
    if (m->flags & ZC_F_RMA)
        n = zc_wire_csum_count(m->type == ZC_T_LIST_WRITE ? 0 : m->off, m->len, ZC_CSUMS_UNIT);
    else
        zc_wire_csum_make(all, m->data.p, 0, m->data.n, 0);
    if (m->type == ZC_T_LIST_WRITE)
        zc_wire_csum_fold(all, 1, zc_crc(m->list.p, m->list.n));
    m->csums =
        (struct zc_bytes){all, (uint32_t)(n < ZC_MAX_CSUMS ? n : ZC_MAX_CSUMS) * ZC_CSUM_SIZE};
}

static uint64_t session(const struct crowd *c, const struct hostile *h, uint8_t who)
{
    switch (who >> 2 & 7) {
    case 5:
        return c->h[(h - c->h + 1) % HOSTILES].session;
    case 6:
        return recall(&c->sessions, who >> 5);
    case 7:
        return who >> 5;
    default:
        return h->session;
    }
}

static size_t message(struct crowd *c, struct hostile *h, const struct step *s, unsigned char *buf)
{
    unsigned char nonce[ZC_NONCE_SIZE] = {s->extra};
    struct zc_msg m = {.type = types[s->type % NTYPES],
                       .flags = s->flags % 64,
                       .tag = next_tag(c),
                       .session = session(c, h, s->who),
                       .level = s->what % 5,
                       .what = s->what % 8,
                       .handle = recall(&c->handles, s->handle),
                       .view = recall(&c->views, s->view),
                       .count = recall(&c->grants, s->view),
                       .off = number(s->off),
                       .len = number(s->len),
                       .size = number(s->size),
                       .disp = number(s->disp),
                       .epoch = number(s->extra),
                       .magic = ZC_MAGIC,
                       .version_min = ZC_PROTOCOL + (s->what == 77),
                       .version_max = ZC_PROTOCOL + (s->what == 77),
                       .client_id = s->view & 1 ? ++c->next_client : h->client_id,
                       .silence_ms = s->size & 1 ? (uint32_t)number(s->size) : 60000,
                       .name = {"hostile", 7},
                       .replaces = s->what & 1 ? recall(&c->sessions, s->handle) : 0,
                       .replaces_client = h->client_id,
                       .status = s->what & 2 ? -1 : 0,
                       .committed_seq = number(s->off),
                       .method = s->what == 78 ? 2 : ZC_METHOD_SECRET,
                       .nonce = {nonce, s->what == 79 ? 3 : sizeof nonce},
                       .proof = {nonce, s->extra % 2 ? 5 : sizeof nonce}};
    unsigned char addr[64];
    size_t len = sizeof addr;
    int n;

    zc_tp_address(h->tp, addr, &len);
    m.address = (struct zc_bytes){addr, (uint32_t)(s->key == 99 ? 3 : len)};
    key(&m, c, h, s->key);
    open_fields(&m, s);
    payload(&m, s, h);
    sums(&m);
    if (m.type == ZC_T_HELLO && s->flags & 64)
        m.type = ZC_T_AUTH;
    if (m.type == ZC_T_PENDING && s->flags & 96)
        m.type = s->flags & 64 ? ZC_T_EVICTED : ZC_T_COMMITTED;
    n = zc_msg_encode(&m, buf, ZC_MAX_MESSAGE);
    if (n > 0 && !(s->flags & 128))
        seal(c, h, buf, (size_t)n);
    return n > 0 ? (size_t)n : 0;
}

/* ---- sending ---- */

/* Whether the message may be sent: no session does what would rightfully destroy the honest
 * client's data, that is, what it could do itself or any client may do to its file. */
static bool fair(const struct zc_msg *m)
{
    bool its_file = m->path.n == strlen(HONEST_PATH) && !memcmp(m->path.p, HONEST_PATH, m->path.n);

    if (m->type == ZC_T_CONTROL && m->what == ZC_CONTROL_STOP)
        return false;
    if (its_file && m->type == ZC_T_UNLINK)
        return false;
    return !its_file || m->type != ZC_T_OPEN || !(m->open_flags & ZC_OPEN_WRITE);
}

static void received(void *arg, const void *msg, size_t len)
{
    struct hostile *h = arg;
    struct crowd *c = h->crowd;
    struct opened *o;
    struct zc_msg m;
    int rc = zc_msg_decode(&m, msg, len);

    REQUIRE(rc == 0, "the server sends %zu bytes that are no message: %s", len, zc_error_text(rc));
    REQUIRE(m.type & ZC_REPLY || m.type == ZC_T_PENDING || m.type == ZC_T_EVICTED ||
                m.type == ZC_T_COMMITTED,
            "the server sends a request, %u", m.type);
    if (zc_msg_has_mac(m.type) && (o = opened(c, m.session)))
        REQUIRE(zc_mac_check(&o->keys, msg, len), "the server's MAC is wrong");
    if (m.type == (ZC_T_HELLO | ZC_REPLY)) {
        greeted(c, h, &m, msg, len);
        return;
    }
    if (m.type & ZC_REPLY)
        h->answered = m.type == (ZC_T_AUTH | ZC_REPLY) ? h->greeted : m.tag;
    if (m.status || !(m.type & ZC_REPLY))
        return;
    switch (m.type & ~ZC_REPLY) {
    case ZC_T_AUTH:
        if (!h->session)
            h->session = m.session;
        remember(&c->sessions, m.session);
        break;
    case ZC_T_OPEN:
        remember(&c->handles, m.handle);
        break;
    case ZC_T_VIEW_INSTALL:
        remember(&c->views, m.view);
        break;
    case ZC_T_LOCK:
    case ZC_T_RENDEZVOUS:
        remember(&c->grants, m.count);
        break;
    case ZC_T_READ:
    case ZC_T_VREAD:
    case ZC_T_LIST_READ:
        REQUIRE(m.count <= INT64_MAX && m.data.n <= m.count, "%u bytes, count %llu", m.data.n,
                (unsigned long long)m.count);
        break;
    }
}

static bool progress(struct crowd *c)
{
    int n = 0;

    for (int i = 0; i < HOSTILES; i++)
        if (c->h[i].tp)
            n += zc_tp_progress(c->h[i].tp, 0);
    return n > 0;
}

/* Waits for the reply, which may never come. */
static void wait_for(struct crowd *c, struct hostile *h, uint64_t tag)
{
    uint64_t until = zc_now() + (c->held ? 2 : c->patience_ms) * ZC_NS_PER_MS;

    while (h->answered != tag && zc_now() < until)
        if (!progress(c))
            zc_tp_progress(h->tp, 1);
    if (h->answered != tag && !c->held)
        c->patience_ms = 4; /* shorter from now on: a request that may take long is waited for */
}

/* Whether the server replies to this session without waiting for another one. */
static bool answered_here(const struct hostile *h, const struct zc_msg *m)
{
    if (m->type == ZC_T_HELLO)
        return true;
    return h->session && m->session == h->session && m->type != ZC_T_LOCK && m->type != ZC_T_STEP &&
           m->type != ZC_T_PENDING && m->type != ZC_T_EVICTED && m->type != ZC_T_COMMITTED &&
           !(m->type & ZC_REPLY);
}

static void forget_session(struct crowd *c, uint64_t session)
{
    for (int i = 0; i < HOSTILES; i++)
        if (c->h[i].session == session)
            c->h[i].session = 0;
}

static void send_bytes(struct crowd *c, struct hostile *h, const unsigned char *buf, size_t len,
                       bool wait)
{
    struct zc_msg m;
    int rc = zc_msg_decode(&m, buf, len);

    if (len == 0 || !h->tp || !fair(&m))
        return;
    ck_assert_int_eq(zc_tp_send(h->tp, h->server, buf, len), 0);
    c->sent++;
    if (wait && rc == 0 && answered_here(h, &m))
        wait_for(c, h, m.tag);
    if (m.type == ZC_T_BYE)
        forget_session(c, m.session);
}

/* Sends the last message again, or a variation of it. */
static void again(struct crowd *c, struct hostile *h, const struct step *s)
{
    unsigned char buf[ZC_MAX_MESSAGE];
    size_t len = c->last_len, at = ((size_t)s->off << 8 | s->len) % (len ? len : 1);

    if (len == 0)
        return;
    memcpy(buf, c->last, len);
    switch (s->what % 4) {
    case 1:
        len = at; /* truncated */
        break;
    case 2:
        len = at; /* truncated, with a matching length */
        buf[0] = (unsigned char)len;
        buf[1] = (unsigned char)(len >> 8);
        break;
    case 3:
        buf[at] ^= s->extra;
        break;
    }
    if (!(s->key & 1))
        seal_anew(c, h, buf, len);
    send_bytes(c, h, buf, len, s->wait);
}

/* ---- connecting and leaving ---- */

static void hostile_up(struct crowd *c, struct hostile *h)
{
    struct zc_tp_config tp = {.max_msg = ZC_MAX_MESSAGE, .nrecv = 16, .recv = received, .arg = h};
    struct step hello = {.kind = STEP_MESSAGE, .who = (uint8_t)(h - c->h), .wait = 1};
    struct zc_mr gone;

    memset(h, 0, sizeof *h);
    h->crowd = c;
    h->client_id = ++c->next_client;
    ck_assert_int_eq(zc_tp_loop_open(&tp, &h->tp), 0);
    ck_assert_int_eq(zc_tp_peer_add(h->tp, c->rig->addr, c->rig->addr_len, &h->server), 0);
    h->memory = malloc(HOSTILE_MEMORY);
    ck_assert(h->memory != NULL);
    memset(h->memory, 0x77, HOSTILE_MEMORY);
    for (int i = 0; i < VIEWS; i++)
        memcpy(h->memory + (size_t)i * VIEW_BYTES / 4, samples[i].bytes, VIEW_BYTES / 4);
    ck_assert_int_eq(zc_tp_reg(h->tp, h->memory, HOSTILE_MEMORY, &h->old), 0);
    ck_assert_int_eq(zc_tp_reg(h->tp, h->memory, HOSTILE_MEMORY, &h->mr), 0);
    gone = h->old; /* where its key stays, which is invalid now */
    zc_tp_dereg(h->tp, &gone);
    while (types[hello.type] != ZC_T_HELLO)
        hello.type++;
    crowd_step(c, &hello, NULL, 0);
}

/* Frees the peer, and its memory. */
static void hostile_down(struct hostile *h)
{
    if (!h->tp)
        return;
    zc_tp_close(h->tp);
    h->tp = NULL;
    free(h->memory);
    h->memory = NULL;
}

void crowd_step(struct crowd *c, const struct step *s, const uint8_t *more, size_t len)
{
    struct hostile *h = &c->h[(s->who & 3) % HOSTILES];
    unsigned char buf[ZC_MAX_MESSAGE];
    size_t n;

    switch (s->kind) {
    case STEP_MESSAGE:
        n = message(c, h, s, buf);
        if (n == 0)
            break;
        memcpy(c->last, buf, n);
        c->last_len = n;
        send_bytes(c, h, buf, n, s->wait);
        break;
    case STEP_AGAIN:
        again(c, h, s);
        break;
    case STEP_BYTES:
        n = len < ZC_MAX_MESSAGE ? len : ZC_MAX_MESSAGE;
        memcpy(buf, more, n);
        if (!(s->key & 1))
            seal_anew(c, h, buf, n);
        send_bytes(c, h, buf, n, s->wait);
        break;
    case STEP_GONE:
        hostile_down(h);
        hostile_up(c, h);
        break;
    }
    progress(c);
}

void crowd_up(struct crowd *c, struct rig *rig, uint64_t honest)
{
    make_samples();
    memset(c, 0, sizeof *c);
    c->rig = rig;
    remember(&c->sessions, honest);
    c->patience_ms = 200;
    c->next_client = UINT64_C(0xbad) << 32;
    for (int i = 0; i < HOSTILES; i++)
        hostile_up(c, &c->h[i]);
}

void crowd_bye(struct crowd *c)
{
    for (unsigned i = 0; i < c->nopened; i++) {
        struct zc_msg m = {.type = ZC_T_BYE, .tag = next_tag(c), .session = c->opened[i].session};
        unsigned char buf[64];
        int n = zc_msg_encode(&m, buf, sizeof buf);

        zc_mac_put(&c->opened[i].keys, buf, (size_t)n);
        ck_assert_int_eq(zc_tp_send(c->h[0].tp, c->h[0].server, buf, (size_t)n), 0);
    }
    progress(c);
}

void crowd_down(struct crowd *c)
{
    for (int i = 0; i < HOSTILES; i++)
        hostile_down(&c->h[i]);
}
