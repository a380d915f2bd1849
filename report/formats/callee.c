/*
 * callee.c - the frame of our allocation function, for formats whose stacks begin with it.
 *
 * Recorded stacks begin at the caller of our function. memcheck and the sanitizers print their
 * malloc as the innermost frame, and programs that parse their output expect it. The function is
 * known by the code of the call (calls.c). Its address is not, so writers print 0x0.
 */
#include <string.h>

#include "formats_priv.h"

/* The path of our library as the program loaded it, or its name. */
static const char *runtime_path(const struct report *r)
{
    for (uint32_t i = 0; i < r->module_count; i++)
        if (r->modules[i].is_runtime)
            return r->modules[i].path;
    return RUNTIME_NAME;
}

/* "operator new[]", or the first of its symbols. */
static const char *shown_name(const struct report *r, uint32_t entry)
{
    const struct entry_alias *alias;

    for (size_t i = 0; r->is_mangled && (alias = entry_alias(i)); i++)
        if (alias->entry == entry)
            return alias->name;
    return entry_name(entry);
}

struct callee callee_of(const struct report *r, uint32_t index, uint32_t entry)
{
    const struct site *site = index == NO_SITE ? NULL : &r->sites[index];
    const char *name;

    if (!site || site->count == 0)
        return (struct callee){0};
    if (!entry && r->frames[site->frames[0]].exact) /* an instruction, not a call */
        return (struct callee){0};
    name = shown_name(r, entry ? entry : r->frames[site->frames[0]].calls);
    if (!name)
        return (struct callee){.name = "???", .name_bytes = 3, .object = runtime_path(r)};
    return (struct callee){
        .name = name,
        .name_bytes = (int)(strstr(name, " (") ? strcspn(name, "(") - 1 : strlen(name)),
        .object = runtime_path(r),
    };
}

uint32_t call_of(const struct error *e)
{
    return e->entry == ENTRY_EVICTION || e->entry == ENTRY_EXIT ? ENTRY_NONE : e->entry;
}

const char *uninitialised_param(const struct error *e)
{
    static const char *const params[ENTRY_COUNT] = {
        [ENTRY_WRITE] = "write(buf)",
        [ENTRY_PWRITE] = "pwrite64(buf)",
        [ENTRY_WRITEV] = "writev(vector[...])",
        [ENTRY_PWRITEV] = "pwritev(vector[...])",
        [ENTRY_PWRITEV2] = "pwritev2(vector[...])",
        [ENTRY_SEND] = "socketcall.sendto(msg)",
        [ENTRY_SENDTO] = "socketcall.sendto(msg)",
        [ENTRY_SENDMSG] = "sendmsg(msg.msg_iov[i])",
        [ENTRY_SENDMMSG] = "sendmmsg(msg.msg_iov[i])",
    };

    return e->entry < ENTRY_COUNT ? params[e->entry] : NULL;
}
