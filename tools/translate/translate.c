/* translate.c - the stages in their order, and their statistics. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "translate_priv.h"

static void count_accesses(struct plan_statistics *s, const struct code *c,
                           const struct functions *f, bool is_backwards)
{
    uint64_t ignored = 0;
    uint64_t *counts[] = {
        [ACCESS_NONE] = &ignored,
        [ACCESS_CHECKED] = &s->checks,
        [ACCESS_STACK] = &s->by_stack,
        [ACCESS_PC] = &s->by_pc,
        [ACCESS_SEGMENT] = &s->by_segment,
        [ACCESS_STRING] = &s->string,
        [ACCESS_UNCHECKABLE] = &s->uncheckable,
    };

    for (uint32_t n = 0; n < c->count; n++) {
        const struct instruction *i = &c->at[n];
        if (!is_translated(f, i))
            continue;
        s->instructions++;
        s->accesses += i->access != ACCESS_NONE;
        if (i->string && !is_backwards)
            s->checks++;
        else
            ++*counts[i->access];
    }
}

static void count_functions(struct plan_statistics *s, const struct object *o,
                            const struct functions *f)
{
    s->outside_bytes = o->text_bytes;
    for (uint32_t n = 0; n < f->count; n++) {
        s->function_bytes[f->at[n].state] += f->at[n].bytes;
        s->outside_bytes -= f->at[n].bytes;
    }
}

static void count_checks(struct plan_statistics *s, const struct emission *e,
                         const struct patches *p)
{
    for (uint32_t n = 0; n < e->check_count; n++) {
        s->register_spills += e->checks[n].spills ? e->checks[n].count : 0;
        s->flag_saves += e->checks[n].saves_flags ? e->checks[n].count : 0;
    }
    s->jumps = p->jumps;
    s->short_jumps = p->short_jumps;
    s->traps = p->traps;
    s->targets = p->jumps + p->short_jumps + p->traps;
    s->body_bytes = e->body_bytes;
}

static struct plan *translate(const struct object *o, const struct translation *how)
{
    struct plan_statistics s = {0};
    struct functions f;
    struct code c;
    struct emission e = {.object = o, .functions = &f, .code = &c, .how = how};
    struct patches patches;
    struct plan *p;

    functions_read(&f, o);
    code_decode(&c, o, &f);
    functions_select(&f, &c, o);
    uint64_t skipped = how->skip && *how->skip ? functions_skip(&f, o, how->skip) : 0;
    unwind_select(&f, &c);
    bool *is_target = targets_find(&c, o, &f);
    uint32_t *live = liveness_of(&c, o, &f, is_target);
    e.live = live;
    e.is_target = is_target;
    emit(&e);
    unwind_make(&e.unwind, &e);
    patches_make(&patches, &e, is_target);
    count_functions(&s, o, &f);
    count_accesses(&s, &c, &f, e.is_backwards);
    count_checks(&s, &e, &patches);
    e.out.is_far |= patches.is_far;
    p = plan_make(&e, &patches, &s);
    p->header.own_unwinder = s.function_bytes[PLAN_LSDA] > 0 && object_has_unwinder(o);
    p->header.skip_matched = skipped;
    emission_free(&e);
    functions_free_frames(&f);
    free(is_target);
    free(live);
    free(c.at);
    free(c.index);
    return p;
}

int translate_object(struct plan **out, const char *path, const struct translation *how,
                     char err[TOOLS_ERROR_BYTES])
{
    struct translation placed = *how;
    struct object o;
    int bad = zydis_load(err);

    if (!bad)
        bad = object_open(&o, path, err);
    if (bad)
        return bad;
    if (how->distance == 0)
        placed.distance = o.is_fixed ? DISTANCE_FIXED : DISTANCE_LOADED;
    *out = translate(&o, &placed);
    object_close(&o);
    if (!plan_is_far(*out))
        return 0;
    plan_free(*out);
    *out = NULL;
    return fail(err, -EFBIG, "%.300s: the copy would be out of reach", path);
}

uint64_t translate_skipped(const char *path, const char *patterns)
{
    char err[TOOLS_ERROR_BYTES];
    struct functions f;
    struct object o;

    if (object_open(&o, path, err))
        return 0;
    functions_read(&f, &o);
    uint64_t matched = functions_skip(&f, &o, patterns);
    functions_free_frames(&f);
    free(f.at);
    object_close(&o);
    return matched;
}

int translate_name(char out[PLAN_NAME_BYTES], const char *path, char err[TOOLS_ERROR_BYTES])
{
    struct object o;
    int bad = object_identify(&o, path, err);

    if (bad)
        return bad;
    for (uint32_t i = 0; i < o.build_id_bytes; i++)
        sprintf(out + (size_t)2 * i, "%02x", o.build_id[i]);
    strcpy(out + (size_t)2 * o.build_id_bytes, ".plan");
    bad = o.build_id_bytes ? 0 : fail(err, -ENOENT, "%.300s has no build-id", path);
    object_close(&o);
    return bad;
}
