/*
 * ids.c - ids of findings that stay the same from run to run, machine to machine, build to build.
 *
 * An id is a hash of the names of libraries and functions, with offsets only where a name is
 * missing. It is the same until the call is moved into another function. The program has no name
 * in it, so that its file may be renamed or copied. Names end before what the compiler appends to
 * the names of copies and parts of functions, and before versions. Frames of the C library before
 * main are left out: machines with symbols of libc have other names for them.
 */
#include <stdlib.h>
#include <string.h>

#include "findings.h"

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    while (n-- > 0)
        hash = (hash ^ *p++) * 0x100000001b3ull; /* FNV-1a */
    return hash;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text) + 1);
}

bool module_is_program(const struct report *r, const struct module *module)
{
    return strcmp(program_path(r, module->image), module->path) == 0;
}

/* How much of a symbol's name is that of the function in the source. */
static size_t name_length(const char *name)
{
    static const char *const suffixes[] = {".constprop.", ".isra.", ".part.",      ".cold",
                                           ".lto_priv.",  ".llvm.", ".localalias", "@"};
    size_t length = strlen(name);

    for (size_t i = 0; i < countof(suffixes); i++) {
        const char *at = strstr(name, suffixes[i]);
        if (at && at > name && (size_t)(at - name) < length)
            length = (size_t)(at - name);
    }
    return length;
}

static uint64_t hash_frame(const struct report *r, const struct frame *frame, uint64_t hash)
{
    if (frame->module == NO_MODULE)
        return hash_text(hash, "?"); /* addresses differ from run to run */
    const struct module *module = &r->modules[frame->module];
    hash = hash_text(hash, module_is_program(r, module) ? "" : base_name(module->path));
    if (frame->system_name) {
        hash = hash_bytes(hash, frame->system_name, name_length(frame->system_name));
        return hash_bytes(hash, "", 1);
    }
    return hash_bytes(hash, &frame->offset, sizeof frame->offset);
}

static bool is_before_main(const struct report *r, const struct frame *frame)
{
    const char *module =
        frame->module == NO_MODULE ? "" : base_name(r->modules[frame->module].path);

    return strcmp(module, "libc.so.6") == 0 || strncmp(module, "ld-linux", 8) == 0 ||
           (frame->system_name && strcmp(frame->system_name, "_start") == 0);
}

/*
 * A stripped program's entry point has no name: it is the outermost frame and calls the C library.
 */
static bool ends_at_start(const struct report *r, const struct site *site)
{
    const struct frame *last, *inner;

    if (site->end != STACK_WHOLE || site->count < 3)
        return false;
    last = &r->frames[site->frames[site->count - 1]];
    inner = &r->frames[site->frames[site->count - 2]];
    return last->module != NO_MODULE && !last->system_name && is_before_main(r, inner);
}

/* If all frames are the C library's, all count as the user's. */
uint32_t user_frames(const struct report *r, const struct site *site)
{
    uint32_t count = site->count - ends_at_start(r, site);

    while (count > 0 && is_before_main(r, &r->frames[site->frames[count - 1]]))
        count--;
    return count ? count : site->count;
}

void id_of_site(const struct report *r, const char *code, uint32_t site, char id[ID_BYTES])
{
    id_of_kind(r, code, code, site, id);
}

void id_of_kind(const struct report *r, const char *code, const char *what, uint32_t site,
                char id[ID_BYTES])
{
    const struct site *stack = site == NO_SITE ? NULL : &r->sites[site];
    uint32_t count = stack ? user_frames(r, stack) : 0;
    uint64_t hash = hash_text(0xcbf29ce484222325ull, what);

    for (uint32_t i = 0; i < count; i++)
        hash = hash_frame(r, &r->frames[stack->frames[i]], hash);
    snprintf(id, ID_BYTES, "%s-%08x", code, (uint32_t)(hash ^ hash >> 32));
}

struct seen_id {
    char id[ID_BYTES];
    uint32_t times;
    UT_hash_handle hh;
};

void ids_make_unique(void *items, uint32_t count, size_t stride)
{
    struct seen_id *all = NULL, *seen, *next;

    for (uint32_t i = 0; i < count; i++) {
        char *id = (char *)items + i * stride;
        HASH_FIND(hh, all, id, strlen(id), seen);
        if (!seen) {
            seen = xalloc(calloc(1, sizeof *seen));
            snprintf(seen->id, sizeof seen->id, "%s", id);
            HASH_ADD(hh, all, id, strlen(seen->id), seen);
        }
        if (++seen->times > 1)
            snprintf(id, ID_BYTES, "%.19s.%u", seen->id, seen->times);
    }
    HASH_ITER (hh, all, seen, next) {
        HASH_DEL(all, seen);
        free(seen);
    }
}
