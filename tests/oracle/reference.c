/*
 * reference.c - libunwind, loaded at run time and invisible to the program.
 *
 * RTLD_LOCAL and never linked: libunwind defines the _Unwind_ functions of the C++ runtime, and a
 * program that found those would throw its exceptions through libunwind.
 *
 * Its cache is switched off.  This test checks a cache of unwinding rules, and libunwind's own goes
 * stale when a library is closed and another one is loaded in its place (programs/reload.c: 480 of
 * 1,924 stacks); it also has one rule for a pc, for return addresses and interrupted ones.  Reading
 * the CFI at each step costs about 1 us a frame.
 */
#include "oracle_priv.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

static struct {
    __typeof__(unw_init_local2) *init_local2;
    __typeof__(unw_step) *step;
    __typeof__(unw_get_reg) *get_reg;
    __typeof__(unw_get_proc_info_by_ip) *proc_info;
    __typeof__(unw_set_caching_policy) *caching;
    int (*getcontext)(unw_context_t *);
    unw_addr_space_t *space;
} unw;

/* ---- loading -------------------------------------------------------------------------------- */

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
#define RESOLVE(member, name) (*(void **)&unw.member = dlsym(library, TEXT(name)))

static bool load(void)
{
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    return library && RESOLVE(init_local2, unw_init_local2) && RESOLVE(step, unw_step) &&
           RESOLVE(get_reg, unw_get_reg) && RESOLVE(proc_info, unw_get_proc_info_by_ip) &&
           RESOLVE(caching, unw_set_caching_policy) && RESOLVE(space, unw_local_addr_space) &&
           RESOLVE(getcontext, UNW_ARCH_OBJ(getcontext)) &&
           unw.caching(*unw.space, UNW_CACHE_NONE) == 0;
}

/* The loader allocates while its lists are inconsistent; they are consistent for its callees. */
static bool is_loader(uintptr_t pc)
{
    Dl_info where;
    return dladdr((void *)(pc - 1), &where) && (uintptr_t)where.dli_fbase == getauxval(AT_BASE);
}

bool reference_ready(uintptr_t caller)
{
    enum { NOTHING, LOADING, READY, FAILED };
    static _Atomic int state;
    int was = atomic_load_explicit(&state, memory_order_acquire);
    if (was != NOTHING)
        return was == READY;
    if (is_loader(caller) || !atomic_compare_exchange_strong(&state, &was, LOADING))
        return false;
    was = load() ? READY : FAILED;
    atomic_store_explicit(&state, was, memory_order_release);
    return was == READY;
}

/* ---- walking -------------------------------------------------------------------------------- */

static uintptr_t reg(unw_cursor_t *cursor, int number)
{
    unw_word_t value = 0;
    return unw.get_reg(cursor, number, &value) ? 0 : value;
}

static void look(struct walk *w, int result)
{
    w->error = result < 0 ? result : 0;
    w->pc = reg(&w->at, UNW_REG_IP);
    w->sp = reg(&w->at, UNW_REG_SP);
    w->more = result > 0 && w->pc;
}

void reference_context(unw_context_t *context)
{
    unw.getcontext(context);
}

void walk_begin(struct walk *w)
{
    int result = unw.init_local2(&w->at, &w->context, 0);
    look(w, result ? result : 1);
}

void walk_step(struct walk *w)
{
    memcpy(&w->before, &w->at, sizeof w->at);
    look(w, unw.step(&w->at));
}

bool walk_has_no_cfi(uintptr_t pc)
{
    unw_proc_info_t info;
    return unw.proc_info(*unw.space, pc - 1, &info, NULL) < 0 &&
           unw.proc_info(*unw.space, pc, &info, NULL) < 0;
}

static int note_index(struct dl_phdr_info *info, size_t size, void *pc)
{
    bool here = false, index = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        here |=
            ph->p_type == PT_LOAD && (uintptr_t)pc - info->dlpi_addr - ph->p_vaddr < ph->p_memsz;
        index |= ph->p_type == PT_GNU_EH_FRAME;
    }
    return here && index;
}

bool walk_has_index(uintptr_t pc)
{
    return dl_iterate_phdr(note_index, (void *)pc);
}

bool walk_step_by_rbp(struct walk *w, const struct oracle_frame *next)
{
    static const int saved[] = {UNW_X86_64_RBX, UNW_X86_64_R12, UNW_X86_64_R13, UNW_X86_64_R14,
                                UNW_X86_64_R15};
    static const int place[] = {REG_RBX, REG_R12, REG_R13, REG_R14, REG_R15};
    const uintptr_t *rbp = (const uintptr_t *)reg(&w->before, UNW_X86_64_RBP);
    if ((uintptr_t)(rbp + 2) != next->sp || rbp[1] != next->pc)
        return false; /* only then it is certain that rbp can be read through */
    uintptr_t value[5];
    for (int i = 0; i < 5; i++)
        value[i] = reg(&w->before, saved[i]);
    greg_t *to = w->context.uc_mcontext.gregs;
    for (int i = 0; i < 5; i++)
        to[place[i]] = (greg_t)value[i];
    to[REG_RBP] = (greg_t)rbp[0];
    to[REG_RIP] = (greg_t)next->pc;
    to[REG_RSP] = (greg_t)next->sp;
    walk_begin(w);
    return true;
}
