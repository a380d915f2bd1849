/*
 * translated.c - a library to preload: the program runs in the copies that plans contain.
 *
 * TRANSLATED_PLANS has the paths of plans, separated by colons.  Before main, each is mapped beside
 * the loaded object with its build-id; the original text of translated functions is filled with
 * traps, and the patches are written.  At the end, TRANSLATED_LOG gets a line with counts.
 *
 * TRANSLATED_POISON=1: the stack and the data of the object have bad shadow, so that nearly every
 * check calls the handler.  Programs find shadow_set and last_bad as weak symbols (translated.h).
 *
 * rtc-build: shared plan -O1 -mgeneral-regs-only -D_GNU_SOURCE -fno-builtin
 */
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include "plan_view.h"
#include "translated.h"

#define SHADOW_BYTES (1ull << 44)

static struct object {
    struct plan_view plan;
    uint8_t *text, *copy;
} objects[8];
static unsigned object_count, traps, missed;
static struct bad_access last, logged[BAD_LOG];
static uint64_t bad_count;

static void must(int is_right, const char *what)
{
    if (is_right)
        return;
    dprintf(2, "translated: %s\n", what);
    _exit(99);
}

/* ---- shadow and the handler ------------------------------------------------------------------- */

static int8_t *shadow_of(const void *at)
{
    return (int8_t *)(((uintptr_t)at >> 3) + PLAN_SHADOW);
}

void shadow_set(const void *at, size_t bytes, int value)
{
    for (const char *p = at; p < (const char *)at + bytes; p += 8)
        *shadow_of(p) = (int8_t)value;
}

uint64_t last_bad(struct bad_access *out)
{
    *out = last;
    return bad_count;
}

struct bad_access bad_at(uint64_t n)
{
    return logged[n % BAD_LOG];
}

void handle_bad(uint8_t *at, uint64_t address);
void handle_bad(uint8_t *at, uint64_t address)
{
    for (unsigned n = 0; n < object_count; n++) {
        const struct object *o = &objects[n];
        uint64_t offset = (uint64_t)(at - o->copy);
        if (offset >= o->plan.header->copy.count)
            continue;
        const struct plan_site *s = plan_site_at(&o->plan, (uint32_t)offset);
        must(s != NULL, "the handler was called by no check");
        last = (struct bad_access){o->text + s->original, (void *)address, s->bytes, s->kind};
        logged[bad_count++ % BAD_LOG] = last;
        return;
    }
    must(0, "the handler was called from outside of all copies");
}

void handler(void);
__asm__(".text\n.globl handler\nhandler:\n"
        "push %rbp\n mov %rsp, %rbp\n"
        "push %rax\n push %rcx\n push %rdx\n push %rsi\n push %rdi\n"
        "push %r8\n push %r9\n push %r10\n push %r11\n"
        "mov 8(%rbp), %rdi\n mov %fs:0x110, %rsi\n" /* SPILL_ADDRESS */
        "and $-64, %rsp\n cld\n call handle_bad\n"
        "lea -72(%rbp), %rsp\n"
        "pop %r11\n pop %r10\n pop %r9\n pop %r8\n"
        "pop %rdi\n pop %rsi\n pop %rdx\n pop %rcx\n pop %rax\n pop %rbp\n"
        "cmp %rsp, %rax\n ret\n"); /* flags are not preserved */

/* ---- plans ------------------------------------------------------------------------------------ */

static uint8_t *plan_file(const char *path, struct plan_view *v)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;

    must(fd >= 0 && fstat(fd, &st) == 0, path);
    uint8_t *file = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    must(file != MAP_FAILED, "a plan cannot be mapped");
    const char *wrong = plan_verify(v, file, (uint64_t)st.st_size);
    must(!wrong, wrong);
    close(fd);
    return file;
}

static int has_build_id(const struct dl_phdr_info *info, const struct plan_header *h)
{
    for (unsigned n = 0; n < info->dlpi_phnum; n++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[n];
        const char *note = (const char *)(info->dlpi_addr + ph->p_vaddr);
        if (ph->p_type == PT_NOTE && h->build_id_bytes &&
            memmem(note, ph->p_memsz, h->build_id, h->build_id_bytes))
            return 1;
    }
    return 0;
}

static int find_object(struct dl_phdr_info *info, size_t size, void *object)
{
    struct object *o = object;

    (void)size;
    if (!has_build_id(info, o->plan.header))
        return 0;
    o->text = (uint8_t *)info->dlpi_addr + o->plan.header->text_address;
    for (unsigned n = 0; n < info->dlpi_phnum; n++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[n];
        if (getenv("TRANSLATED_POISON") && ph->p_type == PT_LOAD && (ph->p_flags & PF_W))
            shadow_set((char *)info->dlpi_addr + ph->p_vaddr, ph->p_memsz, -1);
    }
    return 1;
}

static void map_copy(struct object *o, const uint8_t *file)
{
    const struct plan_header *h = o->plan.header;
    size_t bytes = PLAN_COPY_OFFSET + h->copy.count;
    uint8_t *at = mmap(o->text + h->distance - PLAN_COPY_OFFSET, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    must(at == o->text + h->distance - PLAN_COPY_OFFSET, "no room for the copy");
    memcpy(at, file, bytes);
    ((struct plan_header *)at)->handler = (uint64_t)handler;
    must(mprotect(at, bytes, PROT_READ | PROT_EXEC) == 0, "mprotect");
    o->copy = at + PLAN_COPY_OFFSET;
}

static void patch_text(const struct object *o)
{
    const struct plan_header *h = o->plan.header;
    uintptr_t first = (uintptr_t)o->text & -4096ul;
    size_t bytes = (uintptr_t)o->text + h->text_bytes - first;

    must(mprotect((void *)first, bytes, PROT_READ | PROT_WRITE) == 0, "mprotect");
    for (uint64_t n = 0; n < h->functions.count; n++)
        if (o->plan.functions[n].state == PLAN_TRANSLATED)
            memset(o->text + o->plan.functions[n].start, 0xcc, o->plan.functions[n].bytes);
    for (uint64_t n = 0; n < h->patches.count; n++)
        memcpy(o->text + o->plan.patches[n].original, o->plan.patches[n].code,
               o->plan.patches[n].bytes);
    must(mprotect((void *)first, bytes, PROT_READ | PROT_EXEC) == 0, "mprotect");
}

/* Is it where the plan has a trap? Otherwise it is a target that the translator has missed. */
static int is_planned(const struct object *o, uint64_t offset)
{
    for (uint64_t n = 0; n < o->plan.header->patches.count; n++)
        if (o->plan.patches[n].original == offset)
            return 1;
    return 0;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

    (void)signal, (void)info;
    for (unsigned n = 0; n < object_count; n++) {
        const struct object *o = &objects[n];
        uint64_t offset = (uint64_t)*pc - 1 - (uint64_t)o->text;
        uint32_t copy = offset < o->plan.header->text_bytes
                            ? plan_copy_of(&o->plan, (uint32_t)offset)
                            : PLAN_NOWHERE;
        if (copy == PLAN_NOWHERE)
            continue;
        if (is_planned(o, offset))
            traps++;
        else
            missed++;
        *pc = (greg_t)(o->copy + copy);
        return;
    }
    must(0, "a trap in no translated instruction");
}

__attribute__((constructor)) static void begin(void)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
    char *plans = getenv("TRANSLATED_PLANS"), *rest, here;

    if (!plans)
        return;
    void *shadow = mmap((void *)PLAN_SHADOW, SHADOW_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    must(shadow == (void *)PLAN_SHADOW, "no room for the shadow");
    sigaction(SIGTRAP, &action, NULL);
    plans = strdup(plans);
    for (char *path; (path = strtok_r(plans, ":", &rest)); plans = NULL) {
        struct object *o = &objects[object_count];
        uint8_t *file = plan_file(path, &o->plan);
        if (!dl_iterate_phdr(find_object, o))
            continue; /* another program, which the one with a plan has started */
        object_count++;
        map_copy(o, file);
        patch_text(o);
    }
    if (getenv("TRANSLATED_POISON"))
        shadow_set(&here - (1 << 20), 1 << 20, -1);
}

__attribute__((destructor)) static void end(void)
{
    const char *log = getenv("TRANSLATED_LOG");
    int fd = log && object_count > 0 ? open(log, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;

    if (fd >= 0)
        dprintf(fd, "bad %llu traps %u missed %u\n", (unsigned long long)bad_count, traps, missed);
}
