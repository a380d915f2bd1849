/*
 * references.c - where a call of the program by a function's name leads to.
 *
 * The program calls through words that the loader has filled in, and others may have put their own
 * function there since: that is how they override a function behind us.  Such a word tells more
 * than the name does.  Until a word is first called through it may lead to the loader, which is
 * where the name leads, too.
 */
#include "events_priv.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

struct words {
    uintptr_t base;
    const char *names;
    const ElfW(Sym) * symbol;
    struct relocations {
        const ElfW(Rela) * at;
        size_t bytes;
    } called, data; /* words for calls alone, and others */
};

/* The loader relocates what a dynamic section points to in place. */
static uintptr_t address_in(uintptr_t base, ElfW(Addr) value)
{
    return value < base ? base + value : value;
}

static bool read_dynamic(const ElfW(Dyn) * d, struct words *w)
{
    for (; d && d->d_tag != DT_NULL; d++) {
        uintptr_t at = address_in(w->base, d->d_un.d_ptr);
        if (d->d_tag == DT_STRTAB)
            w->names = (const char *)at;
        else if (d->d_tag == DT_SYMTAB)
            w->symbol = (const ElfW(Sym) *)at;
        else if (d->d_tag == DT_JMPREL)
            w->called.at = (const ElfW(Rela) *)at;
        else if (d->d_tag == DT_PLTRELSZ)
            w->called.bytes = d->d_un.d_val;
        else if (d->d_tag == DT_RELA)
            w->data.at = (const ElfW(Rela) *)at;
        else if (d->d_tag == DT_RELASZ)
            w->data.bytes = d->d_un.d_val;
    }
    return w->names && w->symbol;
}

/* What the word for this name holds, if that is something and not `f`; else f. */
static uintptr_t other_than(const struct words *w, const struct relocations *all, const char *name,
                            uintptr_t f)
{
    for (size_t i = 0; all->at && i < all->bytes / sizeof *all->at; i++) {
        const ElfW(Rela) *one = &all->at[i];
        uint32_t kind = ELF64_R_TYPE(one->r_info);
        if ((kind != R_X86_64_JUMP_SLOT && kind != R_X86_64_GLOB_DAT) ||
            !text_equal(w->names + w->symbol[ELF64_R_SYM(one->r_info)].st_name, name))
            continue;
        uintptr_t held = *(const volatile uintptr_t *)(w->base + one->r_offset);
        if (held && held != f)
            return held;
    }
    return f;
}

void *reference_to(const char *name)
{
    struct words w = {0};
    uintptr_t f = (uintptr_t)dlsym(RTLD_DEFAULT, name);
    if (read_dynamic(loader_dynamic(&w.base), &w)) {
        f = other_than(&w, &w.data, name, f);
        f = other_than(&w, &w.called, name, f);
    }
    return (void *)f;
}
