/*
 * redirects.c - a library that overrides munmap behind the runtime: it writes its own function into the
 * program's GOT entries, at program start, or with REDIRECTED=later on request.
 *
 * rtc-build: shared
 */
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void redirect(void);

static int own_munmap(void *at, size_t bytes)
{
    return (int)syscall(SYS_munmap, at, bytes);
}

static void put(uintptr_t at)
{
    int (*own)(void *, size_t) = own_munmap;
    char *page = (char *)(at & -4096ul);
    if (syscall(SYS_mprotect, page, 4096, PROT_READ | PROT_WRITE) == 0)
        memcpy((void *)at, &own, sizeof own);
}

static ElfW(Addr) value_of(const ElfW(Dyn) * d, ElfW(Sxword) tag)
{
    for (; d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag)
            return d->d_un.d_val;
    return 0;
}

static void put_all(const struct dl_phdr_info *info, const ElfW(Dyn) * d, ElfW(Sxword) at,
                    ElfW(Sxword) bytes)
{
    const ElfW(Rela) *r = (const ElfW(Rela) *)value_of(d, at);
    const ElfW(Sym) *symbol = (const ElfW(Sym) *)value_of(d, DT_SYMTAB);
    const char *names = (const char *)value_of(d, DT_STRTAB);
    for (size_t i = 0; i < value_of(d, bytes) / sizeof *r; i++)
        if (strcmp(names + symbol[ELF64_R_SYM(r[i].r_info)].st_name, "munmap") == 0)
            put(info->dlpi_addr + r[i].r_offset);
}

/* The program comes first. */
static int redirect_in(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Dyn) *d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        put_all(info, d, DT_JMPREL, DT_PLTRELSZ);
        put_all(info, d, DT_RELA, DT_RELASZ);
    }
    return 1;
}

void redirect(void)
{
    dl_iterate_phdr(redirect_in, NULL);
}

__attribute__((constructor)) static void begin(void)
{
    const char *when = getenv("REDIRECTED");
    if (!when || strcmp(when, "later") != 0)
        redirect();
}
