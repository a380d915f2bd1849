/*
 * errors.c - the description of errors: one function for each kind.
 *
 * Code that detects an error (a double free, a bad write; free.c, resize.c, the pool) calls one of
 * the functions here. Each adds an error_record to the table in the run file, or increments the
 * count of an existing one (error_sites.c). The reporter formats the messages.
 *
 * All functions are cold, and are called inside a critical section unless errors.h states
 * otherwise.
 */
#include "track_priv.h"
#include "accesses.h"
#include "context.h"
#include "mutant.h"
#include "uninitialised.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static struct {
    _Atomic uint64_t no_memory; /* failed allocations */
    uint32_t crashes;           /* number of crash_records; only the handler of a crash */
} errors;

void errors_after_fork(void)
{
    error_sites_after_fork();
    accesses_after_fork();
    errors.crashes = 0;
    atomic_store(&errors.no_memory, 0);
}

/* ---- fields that all errors have ------------------------------------------------------------- */

struct error_record error_draft(const struct error_call *call, enum error_kind kind)
{
    if (call->t)
        call->t->keep_record = true;
    return (struct error_record){.kind = kind,
                                 .entry = op_entry(call->op),
                                 .count = 1,
                                 .stack = call->stack,
                                 .thread = call->t ? call->t->number : 0};
}

static void describe_block(struct error_record *e, const void *block, uint64_t request,
                           uint64_t word, uint64_t stacks)
{
    bool freed = word_state(word) != BLOCK_LIVE;
    e->block = (uintptr_t)block;
    e->block_bytes = request;
    e->block_state = word_state(word);
    e->block_family = word_family(word);
    e->block_align = align_of_code(word_align(word));
    e->block_thread = word_thread(word);
    e->alloc_stack = (uint32_t)(stacks >> 32);
    e->free_stack = freed ? (uint32_t)stacks : 0;
}

static bool is_unknown(enum error_kind kind)
{
    return (MUTANT(NO_DUF) && kind == ERROR_DUF) || (MUTANT(NO_MAF) && kind == ERROR_MAF) ||
           (MUTANT(NO_BAF) && kind == ERROR_BAF) || (MUTANT(NO_OOM) && kind == ERROR_OOM);
}

static void record(const struct error_call *call, struct error_record *e)
{
    uint32_t kind = atomic_load_explicit(&e->kind, memory_order_relaxed); /* the table clears it */
    bool is_problem = error_class(kind) == FINDING_PROBLEM;
    run_notice_cut();
    if (is_unknown(kind) || run_is_cut())
        return;
    if (vmmalloc_logs(VMMALLOC_ERRORS))
        vmmalloc_log_error(e);
    e->time_ns = os_wall_clock_ns();
    if (call->t && !call->t->is_fallback && is_problem)
        os_thread_name(call->t->record->name);
    const struct error_record *added = error_site_add(e);
    if (!added)
        return;
    if (run_header())
        atomic_fetch_add_explicit(&run_header()->error_sites, 1, memory_order_relaxed);
    run_ring();
    if (call->t && is_problem) {
        call->t->new_error = added;
        call->t->after |= AFTER_ERROR;
    }
}

/* ---- frees ----------------------------------------------------------------------------------- */

/* Describe the block of the slot or units that p points into. false: no block was ever there. */
static bool describe_found(struct error_record *e, const struct found *f, const void *p,
                           uint32_t write_epoch)
{
    uint64_t word, stacks;
    if ((f->verdict != PTR_START && f->verdict != PTR_INSIDE) || slab_is_unrecorded(f))
        return false;
    const struct block_record *b = pool_look(f, write_epoch);
    for (unsigned tries = 0; !block_read(b, &word, &stacks) && tries < 100; tries++)
        ;
    if (word_state(word) == BLOCK_NEVER)
        return false;
    describe_block(e, (const char *)p - f->offset, pool_request(f, b, word), word, stacks);
    return true;
}

static void notify_free(const struct error_call *call, const void *p, enum error_kind kind)
{
    if (notify_defer(call->t, NOTIFY_BAD_FREE))
        call->t->pending_notifications.bad_free =
            (struct notify_bad_free){(uintptr_t)p, kind, call->stack};
}

/*
 * Draft the error of a p that is not the start of a live block. true: *e describes the block that p
 * belongs to.
 */
static bool draft_pointer(struct error_record *e, const struct error_call *call, const void *p,
                          const struct found *f)
{
    *e = error_draft(call, ERROR_BAF);
    e->address = (uintptr_t)p;
    bool block = describe_found(e, f, p, call->write_epoch);
    if (block)
        e->kind = f->verdict == PTR_INSIDE ? ERROR_MAF : ERROR_DUF;
    if (e->kind == ERROR_DUF && e->block_state != BLOCK_FREED)
        e->block_state = BLOCK_FREE; /* the record may be a later block's by now */
    return block;
}

static bool note_query(const struct error_call *call, const void *p, const struct found *f)
{
    struct error_record e;
    bool block = draft_pointer(&e, call, p, f);
    if (f->verdict == PTR_FOREIGN && region_is_libcs(p))
        return true;
    if (error_site_count(&e))
        return false;
    if (!block)
        region_of((uintptr_t)p, &e);
    record(call, &e);
    return false;
}

static bool note_free(const struct error_call *call, const void *p, const struct found *f)
{
    struct error_record e;
    bool block = draft_pointer(&e, call, p, f);
    bool libcs = f->verdict == PTR_FOREIGN && region_is_libcs(p);
    if (libcs)
        e.kind = ERROR_FOREIGN;
    static const uint8_t counter[ERROR_KIND_COUNT] = {[ERROR_BAF] = BAD_FREE_BAD,
                                                      [ERROR_DUF] = BAD_FREE_DUPLICATE,
                                                      [ERROR_MAF] = BAD_FREE_MISALIGNED,
                                                      [ERROR_FOREIGN] = BAD_FREE_FOREIGN};
    image_count(&image()->bad_frees[counter[e.kind]]);
    if (!libcs)
        notify_free(call, p, e.kind);
    if (error_site_count(&e))
        return libcs;
    if (libcs)
        e.region = REGION_LIBC;
    else if (!block)
        region_of((uintptr_t)p, &e);
    record(call, &e);
    return libcs;
}

static void note_client_block(const struct error_call *call, const void *p, enum verdict verdict,
                              const struct client_block *n)
{
    static const enum error_kind kinds[] = {
        [PTR_FOREIGN] = ERROR_BAF, [PTR_START] = ERROR_DUF, [PTR_INSIDE] = ERROR_MAF};
    static const uint8_t counter[] = {[PTR_FOREIGN] = BAD_FREE_BAD,
                                      [PTR_START] = BAD_FREE_DUPLICATE,
                                      [PTR_INSIDE] = BAD_FREE_MISALIGNED};
    struct error_record e = error_draft(call, kinds[verdict]);
    image_count(&image()->bad_frees[counter[verdict]]);
    notify_free(call, p, kinds[verdict]);
    if (error_site_count(&e))
        return;
    e.address = (uintptr_t)p;
    if (verdict == PTR_FOREIGN)
        region_of((uintptr_t)p, &e);
    else
        describe_block(&e, (const void *)(uintptr_t)client_block_start(n), n->bytes,
                       atomic_load_explicit(&n->block.word, memory_order_relaxed),
                       atomic_load_explicit(&n->block.stacks, memory_order_relaxed));
    record(call, &e);
}

static void note_mismatch(const struct error_call *call, const void *p, const struct found *f,
                          uint64_t was, const struct given_shape *given)
{
    struct error_record e = error_draft(call, ERROR_MIS);
    uint64_t now, stacks = 0;
    const struct block_record *b = pool_look(f, call->write_epoch);
    notify_free(call, p, ERROR_MIS);
    if (error_site_count(&e))
        return;
    block_read(b, &now, &stacks);
    e.address = (uintptr_t)p;
    describe_block(&e, p, pool_request(f, b, was), was, stacks);
    e.bytes = given->size == SIZE_NOT_GIVEN ? 0 : given->size;
    e.align = given->align;
    record(call, &e);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void note_damage(const struct error_call *call, const struct damage *d)
{
    struct error_record e = error_draft(call, ERROR_WUA);
    if (access_was_reported(d->first, d->bytes))
        return;
    describe_block(&e, d->block, d->request, d->word, d->stacks);
    e.damage = d->where;
    e.other_alloc_stack = (uint32_t)(d->other_stacks >> 32);
    if (error_site_count(&e))
        return;
    e.address = (uintptr_t)d->first;
    e.bytes = d->bytes;
    e.found_bytes = d->bytes < ERROR_BYTES_FOUND ? (uint32_t)d->bytes : ERROR_BYTES_FOUND;
    memcpy(e.found, d->found, e.found_bytes);
    record(call, &e);
}

/* ---- accesses by calls ----------------------------------------------------------------------- */

static void note_access(const struct error_call *call, const struct access *a,
                        const struct found *owner, uintptr_t start)
{
    struct error_record e = error_draft(call, a->is_write ? ERROR_WUA : ERROR_RUA);
    if (error_site_count(&e))
        return;
    e.address = (uintptr_t)a->at + a->allowed;
    e.bytes = a->bytes - a->allowed;
    e.access_length = a->bytes;
    e.access = a->is_write ? ACCESS_WRITE : ACCESS_READ;
    e.access_bytes = a->pc && !a->is_size_unknown ? (uint32_t)a->bytes : 0;
    e.pc = a->pc;
    e.crash_flags = a->is_poisoned ? CRASH_POISONED : 0;
    if (!owner || !describe_found(&e, owner, (const void *)start, call->write_epoch))
        region_of((uintptr_t)a->at, &e);
    record(call, &e);
}

static void note_overlap(const struct error_call *call, const void *to, uintptr_t from,
                         uint64_t bytes)
{
    struct error_record e = error_draft(call, ERROR_OVL);
    struct found f = pool_find(to);
    if (error_site_count(&e))
        return;
    e.address = (uintptr_t)to;
    e.bytes = bytes;
    e.region_start = from;
    e.region_end = from + bytes;
    describe_found(&e, &f, to, call->write_epoch);
    record(call, &e);
}

static void note_uninitialised(const struct error_call *call, const struct uninitialised *u)
{
    struct error_record e = error_draft(call, ERROR_RUI);
    struct found f = pool_find((const void *)u->block);
    if (error_site_count(&e))
        return;
    e.address = u->first;
    e.bytes = u->bytes;
    e.access_length = u->length;
    e.region_start = u->start;
    describe_found(&e, &f, (const void *)u->block, call->write_epoch);
    record(call, &e);
}

/* ---- crashes --------------------------------------------------------------------------------- */

static void put_crash_record(const struct error_call *call, const struct crash *c)
{
    static_assert(DWARF_REGISTERS < CRASH_REGISTERS, "room for each, and the flags");
    struct segment *s =
        segment_take_in_file(SEGMENT_CRASHES, 1, sizeof(struct crash_record), errors.crashes++);
    struct crash_record *to = s ? segment_items(s) : NULL;
    if (!to)
        return;
    to->pc = c->pc;
    to->thread = call->t ? call->t->number : 0;
    to->registers = DWARF_REGISTERS + 1;
    for (unsigned i = 0; i < to->registers; i++)
        to->value[i] = context_general(c->context, i);
    memcpy(to->exception, c->exception, sizeof to->exception);
    atomic_store_explicit(&s->count, 1, memory_order_relaxed);
    segment_publish(s);
}

static void describe_accessed(struct error_record *e, const struct crash *c, uint32_t write_epoch)
{
    const void *at = (const void *)(uintptr_t)c->address;
    struct found f = pool_find(at);
    if (!describe_found(e, &f, at, write_epoch))
        region_of(c->address, e);
    if (e->region == REGION_UNMAPPED && mapped_was_unmapped(c->address, &e->free_stack, &e->entry))
        e->crash_flags |= CRASH_WAS_UNMAPPED;
}

/* The block from which an address was read: named by the fill, or else likely. */
static void describe_source(struct error_record *e, const struct crash *c, uint32_t write_epoch)
{
    bool is_new = c->flags & CRASH_OF_NEW_FILL;
    struct likely_block b;
    if ((is_new || pool_knobs.free_fill == FILL_OF_BLOCK) &&
        named_block(c->context, c->source, &b) && describe_found(e, &b.found, b.at, write_epoch)) {
        e->crash_flags |= CRASH_NAMED_BLOCK;
        return;
    }
    if (is_new)
        return;
    b = likely_block(c->context, write_epoch);
    if (b.at && describe_found(e, &b.found, (const char *)b.at + b.found.offset, write_epoch))
        e->crash_flags |= CRASH_LIKELY_BLOCK;
}

static void note_crash(const struct error_call *call, const struct crash *c)
{
    if (errors_abort())
        return;
    struct error_record e = error_draft(call, ERROR_CRASH);
    e.address = c->address;
    e.pc = c->pc;
    e.signal = (uint32_t)c->signal;
    e.signal_code = c->code;
    e.access = c->access;
    e.access_bytes = c->access_bytes;
    e.crash_flags = c->flags;
    e.sender = c->sender;
    if (c->flags & CRASH_HAS_ADDRESS && !(c->flags & CRASH_NON_CANONICAL))
        describe_accessed(&e, c, call->write_epoch);
    if (c->flags & (CRASH_OF_FILL | CRASH_OF_NEW_FILL) && !e.block)
        describe_source(&e, c, call->write_epoch);
    put_crash_record(call, c);
    record(call, &e);
}

/* ---- arguments that libraries treat differently ---------------------------------------------- */

static void note_realloc_zero(const struct error_call *call, const void *p, const struct found *f)
{
    struct error_record e = error_draft(call, ERROR_RZE);
    if (error_site_count(&e))
        return;
    e.address = (uintptr_t)p;
    describe_found(&e, f, p, call->write_epoch);
    record(call, &e);
}

static void note_alignment(const struct error_call *call, uint64_t align)
{
    struct error_record e = error_draft(call, ERROR_BAL);
    e.align = align;
    if (!error_site_count(&e))
        record(call, &e);
}

/* ---- failed allocations ---------------------------------------------------------------------- */

static void note_no_memory(const struct error_call *call, uint64_t bytes)
{
    struct error_record e = error_draft(call, ERROR_OOM);
    e.bytes = bytes;
    atomic_fetch_add_explicit(&errors.no_memory, 1, memory_order_relaxed);
    if (!error_site_count(&e))
        record(call, &e);
}

uint64_t errors_no_memory(void)
{
    return atomic_load_explicit(&errors.no_memory, memory_order_relaxed);
}

/* ---- invalid unmaps -------------------------------------------------------------------------- */

static void note_unmap(const struct error_call *call, uintptr_t start, uint64_t bytes,
                       const struct found *f, const struct error_record *region)
{
    struct error_record e = error_draft(call, ERROR_BUM);
    if (error_site_count(&e))
        return;
    e.address = start;
    e.bytes = bytes;
    e.region = region->region;
    e.region_thread = region->region_thread;
    e.region_start = region->region_start;
    e.region_end = region->region_end;
    if (f)
        describe_found(&e, f, (const void *)start, call->write_epoch);
    record(call, &e);
}

/* ---- entry points: all records are made on the helper stack, which is large enough ----------- */

struct noting {
    enum {
        NOTE_FREE,
        NOTE_QUERY,
        NOTE_CLIENT_BLOCK,
        NOTE_MISMATCH,
        NOTE_DAMAGE,
        NOTE_ACCESS,
        NOTE_OVERLAP,
        NOTE_UNINITIALISED,
        NOTE_REALLOC_ZERO,
        NOTE_ALIGNMENT,
        NOTE_NO_MEMORY,
        NOTE_UNMAP,
        NOTE_CRASH,
        NOTE_DRAFT
    } what;
    const struct error_call *call;
    const void *about; /* the call's pointer, or the damage */
    const struct found *f;
    uint64_t a;
    const void *more;
    struct error_record *draft;
    bool libcs;
};

static void note_on_helper(void *about)
{
    struct noting *n = about;
    switch (n->what) {
    case NOTE_FREE:
        n->libcs = note_free(n->call, n->about, n->f);
        break;
    case NOTE_QUERY:
        n->libcs = note_query(n->call, n->about, n->f);
        break;
    case NOTE_REALLOC_ZERO:
        note_realloc_zero(n->call, n->about, n->f);
        break;
    case NOTE_ALIGNMENT:
        note_alignment(n->call, n->a);
        break;
    case NOTE_CLIENT_BLOCK:
        note_client_block(n->call, n->about, (enum verdict)n->a, n->more);
        break;
    case NOTE_MISMATCH:
        note_mismatch(n->call, n->about, n->f, n->a, n->more);
        break;
    case NOTE_DAMAGE:
        note_damage(n->call, n->about);
        break;
    case NOTE_ACCESS:
        note_access(n->call, n->about, n->f, (uintptr_t)n->a);
        break;
    case NOTE_OVERLAP:
        note_overlap(n->call, n->about, (uintptr_t)n->more, n->a);
        break;
    case NOTE_UNINITIALISED:
        note_uninitialised(n->call, n->about);
        break;
    case NOTE_NO_MEMORY:
        note_no_memory(n->call, n->a);
        break;
    case NOTE_CRASH:
        note_crash(n->call, n->about);
        break;
    case NOTE_UNMAP:
        note_unmap(n->call, (uintptr_t)n->about, n->a, n->f, n->more);
        break;
    case NOTE_DRAFT:
        if (!error_site_count(n->draft))
            record(n->call, n->draft);
        break;
    }
}

void error_add(const struct error_call *call, struct error_record *draft)
{
    struct noting n = {NOTE_DRAFT, call, .draft = draft};
    helper_call(note_on_helper, &n);
}

bool error_free(const struct error_call *call, const void *p, const struct found *f)
{
    struct noting n = {NOTE_FREE, call, p, .f = f};
    helper_call(note_on_helper, &n);
    return n.libcs;
}

bool error_query(const struct error_call *call, const void *p, const struct found *f)
{
    struct noting n = {NOTE_QUERY, call, p, .f = f};
    helper_call(note_on_helper, &n);
    return n.libcs;
}

void error_realloc_zero(const struct error_call *call, const void *p, const struct found *f)
{
    struct noting n = {NOTE_REALLOC_ZERO, call, p, .f = f};
    helper_call(note_on_helper, &n);
}

void error_alignment(const struct error_call *call, uint64_t align)
{
    struct noting n = {NOTE_ALIGNMENT, call, NULL, .a = align};
    helper_call(note_on_helper, &n);
}

void error_client_block(const struct error_call *call, const void *p, enum verdict verdict,
                        const struct client_block *is)
{
    struct noting n = {NOTE_CLIENT_BLOCK, call, p, .a = verdict, .more = is};
    helper_call(note_on_helper, &n);
}

void error_mismatch(const struct error_call *call, const void *p, const struct found *f,
                    uint64_t was, const struct given_shape *given)
{
    struct noting n = {NOTE_MISMATCH, call, p, .f = f, .a = was, .more = given};
    helper_call(note_on_helper, &n);
}

void error_damage(const struct error_call *call, const struct damage *d)
{
    struct noting n = {NOTE_DAMAGE, call, d, .f = NULL};
    helper_call(note_on_helper, &n);
}

void error_access(const struct error_call *call, const struct access *a, const struct found *owner,
                  uintptr_t start)
{
    struct noting n = {NOTE_ACCESS, call, a, .f = owner, .a = start};
    helper_call(note_on_helper, &n);
}

void error_overlap(const struct error_call *call, const void *to, const void *from, uint64_t bytes)
{
    struct noting n = {NOTE_OVERLAP, call, to, .a = bytes, .more = from};
    helper_call(note_on_helper, &n);
}

void error_uninitialised(const struct error_call *call, const struct uninitialised *u)
{
    struct noting n = {NOTE_UNINITIALISED, call, u, .f = NULL};
    helper_call(note_on_helper, &n);
}

void error_crash(const struct error_call *call, const struct crash *c)
{
    struct noting n = {NOTE_CRASH, call, c, .f = NULL};
    helper_call(note_on_helper, &n);
}

void error_no_memory(const struct error_call *call, uint64_t bytes)
{
    struct noting n = {NOTE_NO_MEMORY, call, NULL, .a = bytes};
    helper_call(note_on_helper, &n);
}

void error_unmap(const struct error_call *call, uintptr_t start, uint64_t bytes,
                 const struct found *f, const struct error_record *region)
{
    struct noting n = {NOTE_UNMAP, call, (const void *)start, .f = f, .a = bytes, .more = region};
    helper_call(note_on_helper, &n);
}

/* ---- the sweep ------------------------------------------------------------------------------- */

static void swept(const struct damage *d)
{
    struct error_call call = {.t = self, .op = OP(EXIT, MALLOC)};
    error_damage(&call, d);
}

void errors_sweep(void)
{
    struct sweep sweep = {0};
    struct section s;
    bool more = !MUTANT(NO_SWEEP);
    while (more && section_begin(&s)) { /* a section for each step: a fork waits for sections */
        more = sweep_next(&sweep, s.write_epoch, swept);
        section_end(&s);
    }
}

static void evicted(const struct damage *d)
{
    struct error_call call = {.t = self, .op = OP(EVICTION, MALLOC)};
    error_damage(&call, d);
}

void errors_start(void)
{
    quarantine_set_reporter(evicted);
}
