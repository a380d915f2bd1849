/*
 * handle.c - open and close handles, and manage their memory.
 *
 * Handles, sets and buffers are not allocated in the program's heap, where they would be reported
 * as leaks.  They are cells in chunks of the handle, which close unmaps.  The handle itself stays
 * mapped and is reused.
 */
#include "counters_priv.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#define CHUNK_BYTES (256ull << 10)

struct chunk {
    struct chunk *older;
    size_t used;
};

static struct cell *handles;
static struct cell *closed; /* stay mapped, so that a second close is detected; reused */

bool is_handle(const rtc_cpc_t *cpc)
{
    return cpc && cpc->cell.kind == CELL_HANDLE;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t cell_bytes(enum cell_kind kind)
{
    size_t bytes = kind == CELL_SET ? sizeof(rtc_cpc_set_t) : sizeof(rtc_cpc_buf_t);
    return align_up(bytes, 64);
}

static struct cell **free_cells(rtc_cpc_t *cpc, enum cell_kind kind)
{
    return kind == CELL_SET ? &cpc->free_sets : &cpc->free_bufs;
}

static struct chunk *new_chunk(rtc_cpc_t *cpc)
{
    struct chunk *c = os_map(CHUNK_BYTES);
    if (os_failed(c))
        return NULL;
    c->older = cpc->chunks;
    c->used = align_up(sizeof *c, 64);
    cpc->chunks = c;
    return c;
}

static struct cell *new_cell(rtc_cpc_t *cpc, size_t bytes)
{
    struct chunk *c = cpc->chunks;
    if (!c || c->used + bytes > CHUNK_BYTES)
        c = new_chunk(cpc);
    if (!c)
        return NULL;
    struct cell *o = (void *)((char *)c + c->used);
    c->used += bytes;
    return o;
}

void *cell_take(rtc_cpc_t *cpc, enum cell_kind kind)
{
    struct cell **free = free_cells(cpc, kind), *o = *free;
    if (o) {
        *free = o->next;
        memset(o, 0, cell_bytes(kind));
    } else
        o = new_cell(cpc, cell_bytes(kind));
    if (!o)
        return NULL;
    o->kind = kind;
    o->cpc = cpc;
    return o;
}

void cell_give(struct cell *o)
{
    struct cell **free = free_cells(o->cpc, o->kind);
    o->kind = CELL_FREE;
    o->next = *free;
    *free = o;
}

static_assert(sizeof(rtc_cpc_set_t) < CHUNK_BYTES - 128, "cells fit");
static_assert(sizeof(rtc_cpc_buf_t) < CHUNK_BYTES - 128, "cells fit");

/* ---- what the machine has -------------------------------------------------------------------- */

/* Can such an event be opened?  Return 0 or -errno. */
static int probe(uint32_t type, uint64_t config)
{
    const struct perf_event_attr attr = {.type = type,
                                         .size = sizeof attr,
                                         .config = config,
                                         .disabled = 1,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    int fd = os_sandboxed() ? -ECANCELED : os_perf_open(&attr, 0, -1, -1);
    if (fd < 0)
        return fd;
    os_perf_close(fd);
    return 0;
}

/* A temporary error: it shows nothing about the machine. */
static bool is_passing(int err)
{
    return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

static bool has_hardware(const rtc_cpc_t *cpc)
{
    return !cpc->lacks_hardware;
}

static unsigned counters_of(const rtc_cpc_t *cpc)
{
    return has_hardware(cpc) ? processor_counters() : 0;
}

static void describe(rtc_cpc_t *cpc)
{
    struct text name = text_begin(cpc->name, sizeof cpc->name);
    if (!has_hardware(cpc))
        text_put(&name, "software only");
    else if (!os_sandboxed() && os_processor_name(cpc->name, sizeof cpc->name))
        name.at += text_length(cpc->name);
    else
        text_put(&name, "a processor whose name is not known");
    text_end(&name);
    struct text where = text_begin(cpc->reference, sizeof cpc->reference);
    text_put(&where, "software events: perf_event_open(2)");
    if (has_hardware(cpc)) {
        text_put(&where, "; others: perf-list(1), and the manual of ");
        text_put(&where, cpc->name);
    }
    text_end(&where);
}

static void look(rtc_cpc_t *cpc)
{
    cpc->lacks_software = probe(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    cpc->lacks_hardware = probe(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    describe(cpc);
}

int handle_lacks_hardware(rtc_cpc_t *cpc)
{
    if (is_passing(cpc->lacks_software) || is_passing(cpc->lacks_hardware))
        look(cpc);
    return cpc->lacks_hardware;
}

unsigned handle_counters(rtc_cpc_t *cpc)
{
    (void)handle_lacks_hardware(cpc);
    return counters_of(cpc);
}

/* ---- open and close -------------------------------------------------------------------------- */

static rtc_cpc_t *handle_room(void)
{
    struct os_signals signals;
    room_lock(&signals);
    rtc_cpc_t *cpc = (rtc_cpc_t *)(void *)closed;
    if (cpc)
        closed = closed->next;
    room_unlock(&signals);
    if (!cpc)
        cpc = os_map(align_up(sizeof *cpc, PAGE_BYTES));
    else
        memset(cpc, 0, sizeof *cpc);
    return os_failed(cpc) ? NULL : cpc;
}

static rtc_cpc_t *new_handle(void)
{
    rtc_cpc_t *cpc = handle_room();
    if (!cpc)
        return NULL;
    cpc->signal = 29; /* SIGIO */
    look(cpc);
    cpc->cell.cpc = cpc;
    cpc->cell.kind = CELL_HANDLE;
    return cpc;
}

EXPORT rtc_cpc_t *rtc_cpc_open(int version)
{
    struct os_signals signals;
    if (version != RTC_CPC_VER_CURRENT) {
        errno = EINVAL;
        return NULL;
    }
    rtc_cpc_t *cpc = new_handle();
    if (!cpc) {
        errno = ENOMEM;
        return NULL;
    }
    room_lock(&signals);
    cpc->cell.next = handles;
    handles = &cpc->cell;
    room_unlock(&signals);
    return cpc;
}

static void take_out(rtc_cpc_t *cpc)
{
    struct cell **at = &handles;
    while (*at != &cpc->cell)
        at = &(*at)->next;
    *at = cpc->cell.next;
}

static void free_chunks(struct chunk *newest)
{
    while (newest) {
        struct chunk *older = newest->older;
        os_unmap(newest, CHUNK_BYTES);
        newest = older;
    }
}

static void unbind_all(rtc_cpc_t *cpc)
{
    for (struct cell *o = cpc->sets; o; o = o->next) {
        rtc_cpc_set_t *set = (void *)o;
        if (set->bound)
            bind_end(set);
    }
}

EXPORT int rtc_cpc_close(rtc_cpc_t *cpc)
{
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return -1;
    unbind_all(cpc);
    take_out(cpc);
    free_chunks(cpc->chunks);
    cpc->cell.kind = CELL_FREE;
    cpc->cell.next = closed;
    closed = &cpc->cell;
    return call_end(&c, 0);
}

/* In a child: a set of the parent, with descriptors that count the parent. */
static void settle(struct call *c, rtc_cpc_set_t *set, bool rebind)
{
    const struct target target = set->target;
    bool counting = set->counting;
    bind_end(set);
    if (rebind && target.thread == thread_number())
        bind_to_caller(c, set, target.flags, counting);
}

void counters_forked(bool rebind)
{
    for (struct cell *h = handles; h; h = h->next)
        for (struct cell *o = h->cpc->sets; o; o = o->next) {
            struct call c = {.cpc = h->cpc};
            rtc_cpc_set_t *set = (void *)o;
            if (set->bound)
                settle(&c, set, rebind);
        }
}

void counters_thread_ends(void)
{
    for (struct cell *h = handles; h; h = h->next)
        for (struct cell *o = h->cpc->sets; o; o = o->next)
            if (is_bound_here((rtc_cpc_set_t *)(void *)o))
                clocks_end((rtc_cpc_set_t *)(void *)o);
}

/* ---- properties ------------------------------------------------------------------------------ */

/* Return false for an invalid handle; else repeat the probe if it failed temporarily. */
static bool is_looked_at(rtc_cpc_t *cpc)
{
    struct os_signals signals;
    if (!is_handle(cpc))
        return false;
    room_lock(&signals);
    (void)handle_lacks_hardware(cpc);
    room_unlock(&signals);
    return true;
}

EXPORT unsigned rtc_cpc_npic(rtc_cpc_t *cpc)
{
    return is_looked_at(cpc) ? counters_of(cpc) : 0;
}

EXPORT unsigned rtc_cpc_caps(rtc_cpc_t *cpc)
{
    if (!is_looked_at(cpc) || cpc->lacks_software)
        return 0;
    return RTC_CPC_CAP_OVERFLOW_INTERRUPT | RTC_CPC_CAP_OVERFLOW_PRECISE;
}

EXPORT const char *rtc_cpc_cciname(rtc_cpc_t *cpc)
{
    return is_looked_at(cpc) ? cpc->name : NULL;
}

EXPORT const char *rtc_cpc_cpuref(rtc_cpc_t *cpc)
{
    return is_looked_at(cpc) ? cpc->reference : NULL;
}

EXPORT int rtc_cpc_seterrhndlr(rtc_cpc_t *cpc, rtc_cpc_errhndlr_t *handler)
{
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return -1;
    cpc->handler = handler;
    return call_end(&c, 0);
}

EXPORT int rtc_cpc_overflow_signal(rtc_cpc_t *cpc, int signal)
{
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return -1;
    bool can_be_handled = signal > 0 && signal <= 64 && signal != 9 && signal != 19;
    if (can_be_handled)
        cpc->signal = signal;
    return call_end(&c, can_be_handled ? 0 : -EINVAL);
}
