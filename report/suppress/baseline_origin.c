/*
 * baseline_origin.c - of which program a finding is. Ids have no name of a program in them, so that
 * its file may be renamed; without the origin a baseline would hide findings of other programs with
 * functions of the same names.
 */
#include <stdlib.h>
#include <string.h>

#include "suppress_priv.h"

/* The outermost frame: main's file differs between programs which share other sources. */
static const struct frame *outermost_of_program(const struct report *r, const struct site *site)
{
    for (uint32_t i = user_frames(r, site); i-- > 0;) {
        const struct frame *frame = &r->frames[site->frames[i]];
        if (frame->module != NO_MODULE && module_is_program(r, &r->modules[frame->module]))
            return frame;
    }
    return NULL;
}

static const struct module *program_of(const struct report *r, uint32_t image)
{
    const char *path = program_path(r, image);

    for (uint32_t i = 0; *path && i < r->module_count; i++)
        if (strcmp(r->modules[i].path, path) == 0)
            return &r->modules[i];
    return NULL;
}

/* The source file with its folder: many a program is a main.c, and paths differ between machines. */
static char *source_text(const struct frame *frame)
{
    const char *file =
        frame->inlined_count ? frame->inlined[frame->inlined_count - 1].call_file : frame->file;
    const char *from = file ? base_name(file) : NULL;

    if (!file || !*from)
        return NULL;
    for (from -= from > file; from > file && from[-1] != '/';)
        from--;
    return text_escaped(from); /* valid UTF-8: equal after it was written and read */
}

static char *build_id_text(const struct module *module)
{
    char text[sizeof "build-id:" + 2 * sizeof module->build_id] = "build-id:";
    size_t at = strlen(text);

    for (uint32_t i = 0; i < module->build_id_bytes; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%02x", module->build_id[i]);
    return module->build_id_bytes ? xalloc(strdup(text)) : NULL;
}

struct origin origin_of(const struct report *r, uint32_t site, uint32_t image)
{
    const struct frame *frame = site == NO_SITE ? NULL : outermost_of_program(r, &r->sites[site]);
    const struct module *module = site == NO_SITE ? program_of(r, image)
                                  : frame         ? &r->modules[frame->module]
                                                  : NULL;
    struct origin origin = {NULL, NULL};

    if (!module)
        return origin;
    origin.program = text_escaped(base_name(module->path));
    origin.source = frame ? source_text(frame) : NULL;
    if (!origin.source)
        origin.source = build_id_text(module);
    return origin;
}

static bool is_same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

unsigned origin_match(const struct origin *row, const struct origin *finding)
{
    if (is_same(row->program, finding->program))
        return 3;
    if (is_same(row->source, finding->source))
        return 2;
    return !row->program && !row->source; /* of no program, or written by an older version */
}

int text_order(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

int origin_order(const struct origin *a, const struct origin *b)
{
    int order = text_order(a->program, b->program);

    return order ? order : text_order(a->source, b->source);
}

struct origin origin_copy(const struct origin *origin)
{
    return (struct origin){origin->program ? xalloc(strdup(origin->program)) : NULL,
                           origin->source ? xalloc(strdup(origin->source)) : NULL};
}

void origin_free(struct origin *origin)
{
    free(origin->program);
    free(origin->source);
}
