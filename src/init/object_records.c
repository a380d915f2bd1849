/*
 * object_records.c - with --access=full: the objects that were loaded at start, and whether each runs in
 * a checked copy, in the run file.  Objects that dlopen loads later have no record: all of these are
 * native, and the reporter finds them among the modules.
 */
#include "init.h"

#include <string.h>

#include "translated.h"

/* The loader may keep a path relative to an earlier working directory; the kernel has the absolute one. */
static void put_path(struct object_record *r, const struct translated_object *o)
{
    const char *path = o->path[0] ? o->path : image()->exe;
    if (path[0] != '/' && os_mapped_file(o->start, r->path, sizeof r->path) > 0)
        return;
    struct text t = text_begin(r->path, sizeof r->path);
    text_put(&t, path);
    text_end(&t);
}

static void fill(struct object_record *r, const struct translated_object *o)
{
    const struct plan_statistics *plan = o->statistics;
    r->native = o->native;
    r->text_bytes = o->text_bytes;
    put_path(r, o);
    if (o->build_id_bytes <= sizeof r->build_id) {
        memcpy(r->build_id, o->build_id, o->build_id_bytes);
        r->build_id_bytes = o->build_id_bytes;
    }
    if (plan) {
        static_assert(PLAN_STATE_COUNT <= OBJECT_STATES, "each state has its field");
        memcpy(r->function_bytes, plan->function_bytes, sizeof plan->function_bytes);
        r->outside_bytes = plan->outside_bytes;
    }
}

void objects_record(void)
{
    uint32_t count;
    struct section section;
    const struct translated_object *all = translated_objects(&count);
    if (!count || !section_begin(&section))
        return;
    struct segment *s = segment_take(SEGMENT_OBJECTS, count, sizeof(struct object_record), 0);
    if (s) {
        struct object_record *r = segment_items(s);
        for (uint32_t i = 0; i < count; i++)
            fill(&r[i], &all[i]);
        atomic_store_explicit(&s->count, count, memory_order_relaxed);
        segment_publish(s);
    }
    section_end(&section);
}
