/*
 * references.c - the function that the program reaches when it calls a function by name.
 *
 * The program calls through GOT entries that the loader has filled in.  Other libraries may have
 * replaced an entry since, to override a function without symbol interposition.  So a GOT entry is
 * more reliable than the name.  An entry that was not used yet may point to the loader's lazy
 * binding, which resolves the name.
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
    } called, data; /* entries for calls only (PLT), and others */
};

/* The loader may have relocated the pointers of the dynamic section in place. */
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

/* The content of the entry for this name, if it is not NULL and not `f`; else f. */
static uintptr_t other_than(const struct words *w, const struct relocations *all, const char *name,
                            uintptr_t f)
{
    for (size_t i = 0; all->at && i < all->bytes / sizeof *all->at; i++) {
        const ElfW(Rela) *one = &all->at[i];
        uint32_t kind = ELF64_R_TYPE(one->r_info);
        if ((kind != ELF_JUMP_SLOT && kind != ELF_GLOBAL_SLOT) ||
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
