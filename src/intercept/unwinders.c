/*
 * unwinders.c - what unwinders ask libc for: the frame descriptions around an address, and names of
 * addresses, also if the address is in a copy of code (--access=full).
 *
 * An unwinder finds copies by _dl_find_object (libgcc of gcc 12 and newer) or by dl_iterate_phdr
 * (libunwind, older libgcc): it gets the descriptions in the plan.  The program's own dl_iterate_phdr
 * must see only its objects, so copies are reported only to callers in libraries that are unwinders, by
 * their names.
 *
 * backtrace returns addresses of the original code, dladdr accepts addresses in copies.  _Unwind_GetIP is
 * not interposed: its context belongs to one of several libraries, and the library that would be next
 * is not always the one that has made the context.
 *
 * Without copies all calls have their natural result from the next definition.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "intercept.h"
#include "library_jump.h"
#include "translated.h"

/* ---- the object around an address --------------------------------------------------------------- */

static void *next_finder;

void unwinders_look_up(void)
{
    next_finder = libc_finder();
}

EXPORT int LIBC_FINDER_FUNCTION(void *pc, libc_found *out)
{
    struct translated_copy copy;

    if (unlikely(!next_finder)) /* a library's constructor that runs before ours */
        unwinders_look_up();
    if (!translated_copy_at((uintptr_t)pc, &copy))
        return libc_finder_call(next_finder, (uintptr_t)pc, out);
    if (libc_finder_call(next_finder, copy.text, out) != 0)
        return -1;
    libc_found_replace(out, copy.start, copy.end, copy.unwind);
    return 0;
}

/* ---- dl_iterate_phdr --------------------------------------------------------------------------- */

typedef int iterate_fn(struct dl_phdr_info *, size_t, void *);

/* The object around an address, and the loader's counts of changes. */
struct visitor {
    uintptr_t pc;
    bool is_unwinder;
    struct dl_phdr_info last;
};

static bool is_unwinder(const char *path)
{
    static const char *const names[] = {"libgcc_s.so", "libunwind"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    for (size_t i = 0; i < countof(names); i++)
        if (__builtin_strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static int note_caller(struct dl_phdr_info *info, size_t size, void *caller)
{
    struct visitor *c = caller;

    memcpy(&c->last, info, size < sizeof c->last ? size : sizeof c->last);
    for (unsigned n = 0; n < info->dlpi_phnum; n++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[n];
        if (ph->p_type == PT_LOAD && c->pc - (info->dlpi_addr + ph->p_vaddr) < ph->p_memsz)
            c->is_unwinder = is_unwinder(info->dlpi_name);
    }
    return 0;
}

/* Its program headers must persist: unwinders keep pointers to them. */
static int visit_copies(iterate_fn *visit, const struct visitor *c, void *about)
{
    struct translated_copy copy;
    int result = 0;

    for (uint32_t n = 0; result == 0 && translated_copy_number(n, &copy); n++) {
        struct dl_phdr_info info = c->last;
        info.dlpi_addr = copy.start;
        info.dlpi_name =
            "[copy of code]"; /* no file: libunwind would look for .debug_frame there */
        info.dlpi_phdr = copy.headers;
        info.dlpi_phnum = TRANSLATED_HEADERS;
        info.dlpi_tls_modid = 0;
        info.dlpi_tls_data = NULL;
        result = visit(&info, sizeof info, about);
    }
    return result;
}

EXPORT int dl_iterate_phdr(iterate_fn *visit, void *about)
{
    struct visitor c = {.pc = (uintptr_t)__builtin_return_address(0)};
    int result = NEXT(dl_iterate_phdr)(visit, about);

    if (result || !translated_counts().objects)
        return result;
    NEXT(dl_iterate_phdr)(note_caller, &c);
    return c.is_unwinder ? visit_copies(visit, &c, about) : 0;
}

/* ---- names of addresses ------------------------------------------------------------------------ */

EXPORT int dladdr(const void *at, Dl_info *out)
{
    return NEXT(dladdr)((void *)translated_original((uintptr_t)at), out);
}

EXPORT int dladdr1(const void *at, Dl_info *out, void **more, int flags)
{
    return NEXT(dladdr1)((void *)translated_original((uintptr_t)at), out, more, flags);
}

/* ---- backtrace --------------------------------------------------------------------------------- */

BACKTRACE_JUMP;

#define ROOM_ON_STACK 100

/* The first return address of libc's backtrace is in the caller of libc, which is this function. */
__attribute__((always_inline)) static inline int drop_own(void **out, int size, void **all,
                                                          int room)
{
    int count = next.backtrace(all, room) - 1;

    count = count < 0 ? 0 : count > size ? size : count;
    for (int n = 0; n < count; n++)
        out[n] = (void *)translated_return((uintptr_t)all[n + 1]);
    return count;
}

__attribute__((used)) int backtrace_in_copies(void **out, int size);
int backtrace_in_copies(void **out, int size)
{
    void *few[ROOM_ON_STACK + 1];

    if (size <= 0)
        return next.backtrace(out, size);
    if (size <= ROOM_ON_STACK)
        return drop_own(out, size, few, size + 1);
    size_t bytes = ((size_t)size + 1) * sizeof *few;
    void **all = os_map(bytes);
    if (os_failed(all))
        return 0;
    int count = drop_own(out, size, all, size + 1);
    os_unmap(all, bytes);
    return count;
}

/* libc's, or ours: the jump must not leave a frame. */
__attribute__((used)) void *backtrace_target(void);
void *backtrace_target(void)
{
    int (*to)(void **, int) = translated_counts().objects ? backtrace_in_copies : NEXT(backtrace);
    void *address;

    memcpy(&address, &to, sizeof address);
    return address;
}
