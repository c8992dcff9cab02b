/* zc_messages.h - every message, a row each: name, number, its fields and those of its reply.
 *
 * An includer defines ZC_MESSAGE(name, number, fields...) to expand the rows: zc_wire.h takes the
 * numbers, zc_codec.c the layouts.  So there is no include guard and no .c file.
 *
 *     F(kind, member)             a number, a member of struct zc_msg
 *     V(kind, member, maximum)    bytes, and the most there may be
 *     ATTR                        file attributes, as of stat()
 *     .stay = {request, reply}    the first so many fields are the same in all protocol versions
 *     .open = true                carries no MAC; neither does the reply to HELLO
 *
 * Every reply begins with status and text; a failed one ends there.  Numbers are never reused (26
 * was a view, in pieces).  A change of a row raises ZC_PROTOCOL; a test compares the table with
 * doc/PROTOCOL.md.
 */
#define ZC_PROTOCOL 11
/* clang-format off */
/* begins a session; fields up to name, and up to page_size, stay for ever; the proof is last */
ZC_MESSAGE(HELLO, 1,
    .request = {F(HEX, magic), F(U16, version_min), F(U16, version_max), F(HEX, client_id),
            F(U32, silence_ms), V(BIN, address, ZC_MAX_ADDRESS), V(STR, name, ZC_MAX_NAME),
            F(HEX, replaces), F(HEX, replaces_client), F(U32, method),
            V(BIN, nonce, ZC_NONCE_SIZE)},
    .reply = {F(U16, version_min), F(U16, version_max), F(HEX, boot_id), F(U32, silence_ms),
            F(U32, max_inline), F(U32, credits), F(U32, page_size), F(HEX, identity),
            V(BIN, nonce, ZC_NONCE_SIZE), V(BIN, proof, ZC_PROOF_SIZE)},
    .stay = {7, 7}, .open = true)
/* answered at once; keeps a session alive */
ZC_MESSAGE(PING, 2, .request = {{0}})
/* ends a session; its handles are closed */
ZC_MESSAGE(BYE, 3, .request = {{0}})
/* server to client, no reply: the request `tag` is still worked on; `count` grows */
ZC_MESSAGE(PENDING, 4, .request = {F(U64, count)}, .no_reply = true)
/* opens the session that HELLO has begun; its reply has a MAC */
ZC_MESSAGE(AUTH, 5, .request = {V(BIN, proof, ZC_PROOF_SIZE)}, .open = true)
/* server to client, no reply: the session has ended, and why */
ZC_MESSAGE(EVICTED, 6,
    .request = {F(U64, count), F(I32, status), V(STR, text, ZC_MAX_TEXT)}, .no_reply = true)
/* instead of AUTH: munge names the client's user; a refusal, which cannot have a MAC yet, is an
 * R-HELLO with this tag */
ZC_MESSAGE(CREDENTIAL, 7, .request = {V(BIN, credential, ZC_MAX_CREDENTIAL)}, .open = true)
ZC_MESSAGE(OPEN, 16,
    .request = {F(U32, open_flags), F(U32, mode), F(U64, block_size), F(U32, width),
            F(U32, first), F(U64, stride), F(HEX, group), F(HEX, set), F(U32, daemon),
            F(U32, daemons), F(U32, gid), V(STR, path, ZC_MAX_PATH)},
    .reply = {F(U64, handle), ATTR, F(U64, store_unit), F(U32, created)})
ZC_MESSAGE(CLOSE, 17, .request = {F(U64, handle), F(U32, level)})
ZC_MESSAGE(READ, 18,
    .request = {F(U64, handle), F(U64, off), F(U64, len), F(HEX, raddr), F(HEX, rkey)},
    .reply = {F(U64, count), F(HEX, pagedesc), F(HEX, file),
            V(BYTES, csums, ZC_MAX_CSUMS * ZC_CSUM_SIZE), V(BYTES, data, ZC_MAX_INLINE)})
ZC_MESSAGE(WRITE, 19,
    .request = {F(U64, handle), F(U64, off), F(U64, len), F(HEX, raddr), F(HEX, rkey),
            V(BYTES, csums, ZC_MAX_CSUMS * ZC_CSUM_SIZE), V(BYTES, data, ZC_MAX_INLINE)},
    .reply = {F(U64, count), F(U64, unstable_seq), F(U64, committed_seq)})
ZC_MESSAGE(GETATTR, 20,
    .request = {F(U64, handle)},
    .reply = {ATTR})
ZC_MESSAGE(TRUNCATE, 21, .request = {F(U64, handle), F(U64, size)})
ZC_MESSAGE(ALLOCATE, 22, .request = {F(U64, handle), F(U64, off), F(U64, len)})
ZC_MESSAGE(FLUSH, 23, .request = {F(U64, handle), F(U32, level)})
ZC_MESSAGE(UNLINK, 24, .request = {V(STR, path, ZC_MAX_PATH)})
ZC_MESSAGE(STAT, 25,
    .request = {V(STR, path, ZC_MAX_PATH)},
    .reply = {ATTR})
/* through a view that the session has installed; -ENOKEY: it has not */
ZC_MESSAGE(VREAD, 27,
    .request = {F(U64, handle), F(HEX, view), F(U64, disp), F(U64, off), F(U64, len), F(HEX, raddr),
            F(HEX, rkey)},
    .reply = {F(U64, count), F(HEX, pagedesc), F(HEX, file),
            V(BYTES, csums, ZC_MAX_CSUMS * ZC_CSUM_SIZE), V(BYTES, data, ZC_MAX_INLINE)})
ZC_MESSAGE(VWRITE, 28,
    .request = {F(U64, handle), F(HEX, view), F(U64, disp), F(U64, off), F(U64, len), F(HEX, raddr),
            F(HEX, rkey), V(BYTES, csums, ZC_MAX_CSUMS * ZC_CSUM_SIZE),
            V(BYTES, data, ZC_MAX_INLINE)},
    .reply = {F(U64, count), F(U64, unstable_seq), F(U64, committed_seq)})
/* bytes of a file that are not written back yet */
ZC_MESSAGE(BACKLOG, 29,
    .request = {F(U64, handle), F(U32, what)},
    .reply = {F(U64, count), F(U64, committed_seq)})
/* JSON document about the server, in pieces; off 0 makes a new one */
ZC_MESSAGE(INFO, 32,
    .request = {F(U32, what), F(U64, off)},
    .reply = {F(U64, size), V(BYTES, data, ZC_MAX_INLINE)})
/* flush, evict, drain, resume, stop */
ZC_MESSAGE(CONTROL, 33,
    .request = {F(U32, what)},
    .reply = {F(U64, count)})
/* the shared file pointer of an exported file: add, or set */
ZC_MESSAGE(POINTER, 34,
    .request = {F(U64, handle), F(U32, what), F(U64, epoch), F(U64, off)},
    .reply = {F(U64, count), F(U32, control_at)})
/* a range of it; answered when granted */
ZC_MESSAGE(LOCK, 35,
    .request = {F(U64, handle), F(U32, what), F(U64, off), F(U64, len)},
    .reply = {F(U64, count)})
ZC_MESSAGE(UNLOCK, 36, .request = {F(U64, handle), F(U64, count)})
/* a rendezvous record, in pieces: publish it or find another one, read that, withdraw ours */
ZC_MESSAGE(RENDEZVOUS, 37,
    .request = {F(U64, handle), F(U32, what), F(U64, count), F(U64, size), F(U64, off),
            V(STR, job, ZC_MAX_JOB_NAME), V(BYTES, data, ZC_MAX_RECORD_PIECE)},
    .reply = {F(U64, count), F(U64, size), V(BYTES, data, ZC_MAX_RECORD_PIECE)})
/* a view, for transfers through this open file; -ENOSPC: no memory for it here, use lists */
ZC_MESSAGE(VIEW_INSTALL, 38,
    .request = {F(U64, handle), F(HEX, view_low), F(HEX, view_high), F(U64, size), F(U64, memory),
            F(HEX, raddr), F(HEX, rkey), V(BYTES, data, ZC_MAX_INLINE)},
    .reply = {F(HEX, view)})
ZC_MESSAGE(VIEW_DROP, 39, .request = {F(HEX, view)})
/* pieces of the file, listed in the message */
ZC_MESSAGE(LIST_READ, 40,
    .request = {F(U64, handle), F(U64, disp), F(U64, len), F(HEX, raddr), F(HEX, rkey),
            V(BYTES, list, ZC_MAX_INLINE)},
    .reply = {F(U64, count), V(BYTES, csums, ZC_MAX_CSUMS * ZC_CSUM_SIZE),
            V(BYTES, data, ZC_MAX_INLINE)})
ZC_MESSAGE(LIST_WRITE, 41,
    .request = {F(U64, handle), F(U64, disp), F(U64, len), F(HEX, raddr), F(HEX, rkey),
            V(BYTES, list, ZC_MAX_INLINE), V(BYTES, csums, ZC_MAX_CSUMS * ZC_CSUM_SIZE),
            V(BYTES, data, ZC_MAX_INLINE)},
    .reply = {F(U64, count), F(U64, unstable_seq), F(U64, committed_seq)})
/* server to client, no reply: what was taken of an open file up to this number is stored */
ZC_MESSAGE(COMMITTED, 42,
    .request = {F(U64, count), F(U64, handle), F(U64, committed_seq)}, .no_reply = true)
/* to an owner of this host: memory to leave writes in, as descriptors of its process */
ZC_MESSAGE(RING_OPEN, 43, .request = {{0}},
    .reply = {F(U32, control_fd), F(U32, ring_fd), F(U32, pagedescs_fd), F(HEX, pagedescs),
            F(U64, pagedescs_len)})
/* steps of a file: begin to publish, publish, wait for, read a step */
ZC_MESSAGE(STEP, 44,
    .request = {F(U64, handle), F(U32, what), F(U64, count), F(U64, size), F(U64, len)},
    .reply = {F(U64, count)})
/* clang-format on */
#undef ZC_MESSAGE
