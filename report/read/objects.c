/*
 * objects.c - objects of a run with --access=full, and whether they were checked in copies.
 *
 * The runtime records objects when a process starts (object_records.c).  A module that is not among them
 * was loaded later.
 */
#include <stdlib.h>
#include <string.h>

#include "format/plan.h"
#include "objects.h"
#include "read_priv.h"

static const struct {
    const char *code, *text;
} reasons[] = {
    {"", ""},
#define NATIVE(id, code, text) {code, text},
#include "format/native.def"
#undef NATIVE
};
static_assert(countof(reasons) == NATIVE_COUNT, "one for each reason");

static const struct {
    const char *code, *text;
} states[] = {
#define STATE(id, code, text) [PLAN_##id] = {code, text},
#include "format/plan_states.def"
#undef STATE
};
static_assert(countof(states) == PLAN_STATE_COUNT, "one for each state");

/* ---- reading --------------------------------------------------------------------------------- */

void read_objects(struct reading *rd, const struct segment *s)
{
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    for (uint32_t i = 0; i < count; i++) {
        rd->objects = grow(rd->objects, rd->object_count, sizeof *rd->objects);
        memcpy(&rd->objects[rd->object_count++], segment_item(s, i), sizeof *rd->objects);
    }
}

static bool is_of(const struct object_record *o, const struct module *m)
{
    if (o->build_id_bytes > 0 && m->build_id_bytes > 0)
        return o->build_id_bytes == m->build_id_bytes &&
               memcmp(o->build_id, m->build_id, m->build_id_bytes) == 0;
    return strcmp(o->path, m->path) == 0;
}

static bool is_recorded(const struct reading *rd, const struct module *m)
{
    for (uint32_t i = 0; i < rd->object_count; i++)
        if (is_of(&rd->objects[i], m))
            return true;
    return false;
}

static bool is_same(const struct object_record *a, const struct object_record *b)
{
    return a->native == b->native && a->build_id_bytes == b->build_id_bytes &&
           memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0 &&
           strcmp(a->path, b->path) == 0;
}

static void take(struct report *r, const struct object_record *o, bool is_of_exec)
{
    for (uint32_t i = 0; i < r->object_count; i++)
        if (is_same(&r->objects[i].record, o) && r->objects[i].is_of_exec == is_of_exec) {
            r->objects[i].processes++;
            return;
        }
    r->objects = grow(r->objects, r->object_count, sizeof *r->objects);
    r->objects[r->object_count++] = (struct run_object){*o, 1, is_of_exec};
}

static void take_later(struct reading *rd, const struct module *m)
{
    struct object_record o = {.native = NATIVE_LATER, .build_id_bytes = m->build_id_bytes};

    memcpy(o.build_id, m->build_id, sizeof o.build_id);
    snprintf(o.path, sizeof o.path, "%s", m->path);
    take(rd->report, &o, false);
}

/* The program is the first object of its process. */
void take_objects(struct reading *rd)
{
    struct image *image = rd->image;

    if (rd->object_count == 0)
        return;
    image->native = rd->objects[0].native;
    for (uint32_t i = 0; i < rd->object_count; i++)
        take(rd->report, &rd->objects[i], i == 0 && image->how == IMAGE_EXEC);
    for (uint32_t i = 0; i < image->range_count; i++) {
        const struct module *m = &rd->report->modules[image->ranges[i].module];
        if (!m->is_runtime && !is_recorded(rd, m))
            take_later(rd, m);
    }
}

/* ---- the run --------------------------------------------------------------------------------- */

bool object_is_library(const struct object_record *o)
{
    return o->native == NATIVE_LIBRARY;
}

struct object_sums object_sums(const struct report *r)
{
    struct object_sums sums = {0};

    for (uint32_t i = 0; i < r->object_count; i++) {
        const struct object_record *o = &r->objects[i].record;
        if (object_is_library(o))
            continue;
        sums.checked += o->native == NATIVE_NOT;
        sums.native += o->native != NATIVE_NOT;
        sums.text_bytes += o->text_bytes;
        sums.checked_bytes += o->text_bytes - object_native_bytes(o);
        sums.skipped_bytes += o->native == NATIVE_NOT ? o->function_bytes[PLAN_SKIPPED] : 0;
    }
    return sums;
}

void report_set_access_time(struct report *r, const struct access_time *time)
{
    free(r->access_time);
    r->access_time = xalloc(malloc(sizeof *time));
    *r->access_time = *time;
}

bool report_is_checked(const struct report *r, const char *path)
{
    for (uint32_t i = 0; i < r->object_count; i++)
        if (r->objects[i].record.native == NATIVE_NOT &&
            strcmp(r->objects[i].record.path, path) == 0)
            return true;
    return false;
}

/* ---- one object ------------------------------------------------------------------------------ */

bool object_part(const struct object_record *o, uint32_t number, struct native_part *out)
{
    uint32_t state = number + PLAN_TRANSLATED + 1;

    if (state < PLAN_STATE_COUNT)
        *out =
            (struct native_part){states[state].code, states[state].text, o->function_bytes[state]};
    else if (state < OBJECT_STATES)
        *out = (struct native_part){"unknown", "unknown reason", o->function_bytes[state]};
    else
        *out = (struct native_part){"outside", "no frame description", o->outside_bytes};
    return state <= OBJECT_STATES;
}

uint64_t object_native_bytes(const struct object_record *o)
{
    uint64_t checked = o->native == NATIVE_NOT ? o->function_bytes[PLAN_TRANSLATED] : 0;

    return o->text_bytes > checked ? o->text_bytes - checked : 0;
}

const char *native_code(uint32_t reason)
{
    return reason < NATIVE_COUNT ? reasons[reason].code : "unknown";
}

const char *native_text(uint32_t reason, bool is_of_exec)
{
    if (reason == NATIVE_NO_PLAN && is_of_exec)
        return "started by exec, and no plan";
    return reason < NATIVE_COUNT ? reasons[reason].text
                                 : "a reason that this rtcheck does not know";
}
