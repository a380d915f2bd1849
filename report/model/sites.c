/*
 * sites.c - interned code locations: modules, frames (module + offset), stacks, and errors by key.
 *
 * Processes of a run load the same file at different addresses. A frame is identified by module and
 * offset, so it is the same in all processes. A module is identified by path and build-id.
 */
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { KEY_MODULE, KEY_FRAME, KEY_SITE, KEY_ERROR };

struct module_key {
    uint32_t what;
    uint32_t build_id_bytes;
    uint8_t build_id[20];
    char path[464];
};

struct frame_key {
    uint32_t what;
    uint32_t module;
    uint64_t offset;
    uint64_t exact;
};

/* A key, and the index in the table of its kind. */
struct interned {
    UT_hash_handle hh;
    uint32_t index;
    uint32_t bytes;
    alignas(uint32_t) char key[];
};

static struct interned *find(struct report *r, const void *key, size_t bytes)
{
    struct interned *found;
    HASH_FIND(hh, r->known, key, bytes, found);
    return found;
}

/* The returned copy of the key does not move. */
static void *remember(struct report *r, const void *key, size_t bytes, uint32_t index)
{
    struct interned *new = xalloc(malloc(sizeof *new + bytes));

    new->index = index;
    new->bytes = (uint32_t)bytes;
    memcpy(new->key, key, bytes);
    HASH_ADD_KEYPTR(hh, r->known, new->key, bytes, new);
    return new->key;
}

static uint32_t module_add(struct report *r, const struct module_record *m, uint32_t image)
{
    struct module *module;

    r->modules = grow(r->modules, r->module_count, sizeof *r->modules);
    module = &r->modules[r->module_count];
    *module = (struct module){.image = image, .bias = m->bias};
    module->path = xalloc(strndup(m->path, sizeof m->path));
    module->build_id_bytes = m->build_id_bytes;
    memcpy(module->build_id, m->build_id, sizeof module->build_id);
    module->is_runtime = strcmp(base_name(module->path), RUNTIME_NAME) == 0;
    return r->module_count++;
}

uint32_t module_intern(struct report *r, const struct module_record *m, uint32_t image)
{
    struct module_key key = {.what = KEY_MODULE, .build_id_bytes = m->build_id_bytes};
    size_t length = strnlen(m->path, sizeof m->path);
    size_t bytes = offsetof(struct module_key, path) + length;
    struct interned *known;
    uint32_t index;

    memcpy(key.build_id, m->build_id, m->build_id_bytes);
    memcpy(key.path, m->path, length);
    known = find(r, &key, bytes);
    if (known)
        return known->index;
    index = module_add(r, m, image);
    remember(r, &key, bytes, index);
    return index;
}

uint32_t frame_intern(struct report *r, uint32_t module, uint64_t offset, bool exact)
{
    struct frame_key key = {KEY_FRAME, module, offset, exact};
    struct interned *known = find(r, &key, sizeof key);

    if (known)
        return known->index;
    r->frames = grow(r->frames, r->frame_count, sizeof *r->frames);
    r->frames[r->frame_count] = (struct frame){.module = module, .offset = offset, .exact = exact};
    remember(r, &key, sizeof key, r->frame_count);
    return r->frame_count++;
}

uint32_t site_intern(struct report *r, const uint32_t *frames, uint32_t count, uint32_t end)
{
    uint32_t key[2 + RTC_STACK_FRAMES] = {KEY_SITE, end};
    size_t bytes = (2 + (size_t)count) * sizeof key[0];
    struct interned *known;
    uint32_t *kept;

    memcpy(key + 2, frames, count * sizeof frames[0]);
    known = find(r, key, bytes);
    if (known)
        return known->index;
    r->sites = grow(r->sites, r->site_count, sizeof *r->sites);
    kept = remember(r, key, bytes, r->site_count);
    r->sites[r->site_count] = (struct site){.frames = kept + 2, .count = count, .end = end};
    return r->site_count++;
}

uint32_t error_intern(struct report *r, const struct error *e)
{
    bool by_block = error_is_late(e);
    uint32_t key[] = {KEY_ERROR,
                      e->kind,
                      e->damage,
                      by_block ? 0 : e->entry,
                      by_block ? 0 : e->stack,
                      e->alloc_stack,
                      by_block ? 0 : e->free_stack};
    struct interned *known = find(r, key, sizeof key);

    if (known)
        return known->index;
    r->errors = grow(r->errors, r->error_count, sizeof *r->errors);
    r->errors[r->error_count] = *e;
    remember(r, key, sizeof key, r->error_count);
    return r->error_count++;
}

void frame_free(struct frame *frame)
{
    for (uint32_t i = 0; i < frame->inlined_count; i++) {
        free(frame->inlined[i].system_name);
        free(frame->inlined[i].function);
        free(frame->inlined[i].declared);
        free(frame->inlined[i].call_file);
    }
    free(frame->inlined);
    free(frame->system_name);
    free(frame->function);
    free(frame->file);
}

void sites_free(struct report *r)
{
    struct interned *known, *next;

    HASH_ITER (hh, r->known, known, next) {
        HASH_DEL(r->known, known);
        free(known);
    }
    for (uint32_t i = 0; i < r->module_count; i++)
        free(r->modules[i].path);
    for (uint32_t i = 0; i < r->frame_count; i++)
        frame_free(&r->frames[i]);
    for (uint32_t i = 0; i < r->error_count; i++)
        free(r->errors[i].images.at);
    free(r->objects);
    free(r->access_time);
    free(r->crashes);
    free(r->errors);
    free(r->modules);
    free(r->frames);
    free(r->sites);
}
