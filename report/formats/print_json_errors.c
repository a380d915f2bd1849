/*
 * print_json_errors.c - errors in the JSON report.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "print_json_priv.h"
#include "variables.h"

/* ---- names in JSON --------------------------------------------------------------------------- */

static const char *class_name(const struct error *e)
{
    return error_is_problem(e) ? "error" : error_is_shown(e) ? "warning" : "note";
}

static const char *const block_states[] = {"never", "live", "freed", "forgotten", "inherited"};
static const char *const damages[DAMAGE_COUNT] = {NULL, "behind", "before", "inside"};
static const char *const regions[REGION_COUNT] = {
    [REGION_UNKNOWN] = "unknown",
    [REGION_NULL] = "null",
    [REGION_UNMAPPED] = "unmapped",
    [REGION_STACK] = "stack",
    [REGION_STACK_OTHER] = "stack_other",
    [REGION_STACK_ENDED] = "stack_ended",
    [REGION_STACK_ALTERNATE] = "stack_alternate",
    [REGION_MODULE] = "module",
    [REGION_MAPPED] = "mapped",
    [REGION_HEAP] = "heap",
    [REGION_LIBC] = "libc",
};

/* ---- one error ------------------------------------------------------------------------------- */

void json_thread(struct json *j, const char *name, const struct report *r, uint32_t number,
                 const struct thread *t)
{
    const struct image *image = image_of(r, number);

    if (t->number == 0)
        return;
    open_object(j, name);
    put_number(j, "number", t->number);
    if (t->tid != 0) {
        put_number(j, "tid", t->tid);
        put_flag(j, "main", image && t->tid == image->pid);
        put_text(j, "name", t->name);
    }
    close_object(j);
}

/* The block that contains the address, or a block near it. */
static void near_object(struct json *j, const struct report *r, const struct error *e)
{
    if (e->block == 0)
        return;
    open_object(j, "near");
    put_hex(j, "addr", e->block);
    put_number(j, "size", e->block_bytes);
    put_text(j, "state",
             e->block_state < countof(block_states) ? block_states[e->block_state] : "never");
    put_text(j, "family", family_name(e->block_family));
    if (e->block_align != 0)
        put_number(j, "align", e->block_align);
    if (error_has_likely_block(e))
        put_flag(j, "likely", true);
    else if (error_has_named_block(e))
        put_flag(j, "named", true);
    else if (e->address >= e->block)
        put_number(j, "offset", e->address - e->block);
    else
        put_number(j, "before", e->block - e->address);
    json_thread(j, "thread", r, e->image, &e->block_thread);
    close_object(j);
}

/* The variable at the address, as far as the module's debugging information describes it. */
static void variable_object(struct json *j, const struct variable *v)
{
    open_object(j, "variable");
    if (v->name) {
        put_text(j, "name", v->name);
        put_number(j, "offset", v->offset);
    }
    if (v->file) {
        put_text(j, "file", v->file);
        put_number(j, "line", (uint64_t)(v->line > 0 ? v->line : 0));
    }
    if (v->section)
        put_text(j, "section", v->section);
    if (v->function) {
        put_text(j, "function", v->function);
        put_flag(j, "parameter", v->is_parameter);
    }
    close_object(j);
}

void json_region(struct json *j, struct report *r, const struct region *region)
{
    struct variable v;

    if (region->end > region->start) {
        put_hex(j, "start", region->start);
        put_hex(j, "end", region->end);
    }
    if (region->path[0])
        put_text(j, "path", region->path);
    if (region->module == NO_MODULE)
        return;
    put_number(j, "module", region->module);
    put_hex(j, "offset", region->offset);
    if (variable_find(r, region->module, region->offset, &v))
        variable_object(j, &v);
    variable_free(&v);
}

void json_variable_of_thread(struct json *j, struct report *r, const struct holder *h)
{
    const struct site *site = h->function == NO_SITE ? NULL : &r->sites[h->function];
    struct variable v = {0};

    if (site && site->count > 0)
        local_find(r, site->frames[0], h->in_frame, &v);
    else if (!site && h->at < h->control_block)
        thread_variable_find(r, h->program, h->control_block - h->at, &v);
    if (v.name)
        variable_object(j, &v);
    variable_free(&v);
}

static void region_object(struct json *j, struct report *r, const struct error *e)
{
    const struct region *region = &e->region;

    if (region->what == REGION_NONE)
        return;
    open_object(j, "region");
    put_text(j, "what", regions[region->what]);
    json_region(j, r, region);
    json_thread(j, "thread", r, e->image, &region->thread);
    close_object(j);
}

static void damage_object(struct json *j, const struct error *e)
{
    char hex[2 * ERROR_BYTES_FOUND + 1] = "";

    if (e->damage == DAMAGE_NONE)
        return;
    for (uint32_t i = 0; i < e->found_bytes; i++)
        snprintf(hex + (size_t)2 * i, 3, "%02x", e->found[i]);
    open_object(j, "damage");
    put_text(j, "where", damages[e->damage]);
    put_text(j, "found", hex);
    close_object(j);
}

/* A read or write by a call, as a whole; `addr` and `bytes` are the part that is wrong. */
static void access_object(struct json *j, const struct error *e)
{
    if (!error_is_access(e) && e->kind != ERROR_RUI)
        return;
    open_object(j, "access");
    put_text(j, "kind", e->kind == ERROR_WUA ? "write" : "read");
    put_number(j, "size", e->access_length);
    if (e->crash.flags & CRASH_POISONED)
        put_flag(j, "poisoned", true);
    close_object(j);
}

static void registers_object(struct json *j, const struct report *r, const struct error *e)
{
    static const char *const names[] = {DWARF_NAMES, PC_NAME, FLAGS_NAME};
    const struct crash_record *c = e->crash.record ? &r->crashes[e->crash.record - 1] : NULL;

    if (!c || c->registers < countof(names))
        return;
    open_object(j, "registers");
    for (uint32_t i = 0; i < countof(names); i++)
        put_hex(j, names[i], c->value[i]);
    close_object(j);
}

static void crash_object(struct json *j, const struct report *r, const struct error *e)
{
    static const char *const accesses[ACCESS_COUNT] = {NULL, "read", "write", "execute"};
    const struct crash *c = &e->crash;
    char name[16];

    if (e->kind != ERROR_CRASH)
        return;
    open_object(j, "crash");
    snprintf(name, sizeof name, "SIG%s",
             sigabbrev_np((int)c->signal) ? sigabbrev_np((int)c->signal) : "?");
    put_text(j, "signal", name);
    if (c->code > 0)
        put_number(j, "code", (uint64_t)c->code);
    put_flag(j, "sent", c->code <= 0);
    put_hex(j, "pc", c->pc);
    if (c->access < ACCESS_COUNT && accesses[c->access])
        put_text(j, "access", accesses[c->access]);
    if (c->access_bytes > 0)
        put_number(j, "access_bytes", c->access_bytes);
    if (c->sender != 0)
        put_number(j, "sender", c->sender);
    put_flag(j, "mapped", c->flags & CRASH_IS_MAPPED);
    put_flag(j, "canonical", !(c->flags & CRASH_NON_CANONICAL));
    put_flag(j, "of_freed_fill", c->flags & CRASH_OF_FILL);
    put_flag(j, "of_new_fill", c->flags & CRASH_OF_NEW_FILL);
    put_flag(j, "was_unmapped", c->flags & CRASH_WAS_UNMAPPED);
    put_flag(j, "stack_overflow", c->flags & CRASH_OF_STACK);
    if (crash_exception(r, e)) {
        char *type = format_exception(r, crash_exception(r, e));
        put_text(j, "exception", type);
        free(type);
    }
    registers_object(j, r, e);
    close_object(j);
}

static void descriptor_object(struct json *j, const struct error *e)
{
    if (!error_is_of_descriptor(e))
        return;
    open_object(j, "descriptor");
    put_number(j, "number", e->address);
    if (e->region.path[0])
        put_text(j, "target", e->region.path);
    if (e->opener)
        put_text(j, "opener", entry_name(e->opener));
    if (e->closer)
        put_text(j, "closer", entry_name(e->closer));
    close_object(j);
}

static void stack_put(struct json *j, const char *name, uint32_t site)
{
    if (site != NO_SITE)
        put_number(j, name, site);
}

static void error_object(struct json *j, struct report *r, const struct error *e)
{
    char *sentence = error_sentence(r, e, false);

    open_object(j, NULL);
    put_text(j, "id", e->id);
    put_text(j, "rtc", error_code(e->kind));
    put_text(j, "class", class_name(e));
    put_text(j, "text", sentence);
    json_images(j, &e->images);
    put_number(j, "count", e->count);
    put_time(j, "time", e->time_ns);
    if (entry_name(e->entry))
        put_text(j, "entry", entry_name(e->entry));
    if (e->address != 0 && !error_is_of_descriptor(e))
        put_hex(j, "addr", e->address);
    put_number(j, "bytes", e->bytes);
    if (e->align != 0 || e->kind == ERROR_BAL)
        put_number(j, "align", e->align);
    stack_put(j, "stack", e->stack);
    stack_put(j, "alloc_stack", e->alloc_stack);
    stack_put(j, "free_stack", e->free_stack);
    stack_put(j, "other_alloc_stack", e->other_alloc_stack);
    json_thread(j, "thread", r, e->image, &e->thread);
    near_object(j, r, e);
    region_object(j, r, e);
    damage_object(j, e);
    access_object(j, e);
    if (e->kind == ERROR_OVL)
        put_hex(j, "source", e->region.start);
    crash_object(j, r, e);
    descriptor_object(j, e);
    json_disposition(j, &e->disposition);
    close_object(j);
    free(sentence);
}

void json_errors(struct json *j, struct report *r)
{
    open_array(j, "errors");
    for (uint32_t i = 0; i < r->error_count; i++)
        error_object(j, r, &r->errors[i]);
    close_array(j);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static uint64_t lost_of(const struct report *r, enum free_verdict_counter which)
{
    uint64_t sum = 0;

    for (const struct image *image = r->images; image; image = image->hh.next)
        sum += image->bad_frees[which];
    return sum;
}

/* Raise *count to `least`: the counters also include errors for which there was no room. */
static void at_least(uint64_t *count, uint64_t least)
{
    if (*count < least)
        *count = least;
}

static void by_code(struct json *j, const char *name, const uint64_t counts[ERROR_KIND_COUNT])
{
    open_object(j, name);
    for (uint32_t kind = ERROR_BAF; kind < ERROR_KIND_COUNT; kind++)
        if (kind != ERROR_FOREIGN)
            put_number(j, error_code(kind), counts[kind]);
    close_object(j);
}

static uint64_t beyond(uint64_t count, uint64_t hidden)
{
    return count > hidden ? count - hidden : 0;
}

void json_error_counts(struct json *j, const struct report *r)
{
    uint64_t times[ERROR_KIND_COUNT] = {0}, places[ERROR_KIND_COUNT] = {0};
    uint64_t hidden[ERROR_KIND_COUNT] = {0}, unrecorded = 0;

    for (uint32_t i = 0; i < r->error_count; i++) {
        const struct error *e = &r->errors[i];
        times[e->kind] += is_hidden(&e->disposition) ? 0 : e->count;
        hidden[e->kind] += is_hidden(&e->disposition) ? e->count : 0;
        places[e->kind] += !is_hidden(&e->disposition);
    }
    for (const struct image *image = r->images; image; image = image->hh.next)
        unrecorded += image->errors_unrecorded;
    at_least(&times[ERROR_DUF], beyond(lost_of(r, BAD_FREE_DUPLICATE), hidden[ERROR_DUF]));
    at_least(&times[ERROR_MAF], beyond(lost_of(r, BAD_FREE_MISALIGNED), hidden[ERROR_MAF]));
    at_least(&times[ERROR_BAF], beyond(lost_of(r, BAD_FREE_BAD), hidden[ERROR_BAF]));
    by_code(j, "errors", times);
    by_code(j, "error_places", places);
    put_number(j, "errors_unrecorded", unrecorded);
}
