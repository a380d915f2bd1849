/*
 * plans.c - find and map the plan of each loaded object, and patch its entries.
 *
 * A plan is the file BUILD-ID.plan.  It is used only if this user owns it, no other user may write it,
 * and plan_verify accepts the whole file; otherwise the file is removed, and the launcher of the next run
 * makes it again.  The copy is mapped shared and read-only, at the distance from
 * the object that the plan was made for.  The page before it is private: it has the address of the
 * handler.  If another mapping is in the way, the object stays native.
 *
 * The original text is patched only where indirect branches may enter it, by jumps to the copy.  Entries
 * without room for a jump stay native.
 *
 * Unwinders find the frame descriptions of copies by exported functions (intercept/unwinders.c).  If an
 * object contains an unwinder that does not use them, all objects stay native.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "translated_priv.h"

#define FILE_BYTES_MOST (1ull << 31)
#define PATH_BYTES 512u

struct search {
    const char *folder;
    uintptr_t handler;
    bool own_unwinder; /* exceptions would not find the frame descriptions */
    uint32_t found;
};

/* ---- the object ------------------------------------------------------------------------------ */

struct build_id {
    const uint8_t *at;
    uint32_t bytes;
};

static struct build_id id_in_notes(const uint8_t *at, uint64_t bytes)
{
    while (bytes >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *n = (const void *)at;
        uint64_t name = (n->n_namesz + 3ull) & ~3ull, text = (n->n_descsz + 3ull) & ~3ull,
                 whole = sizeof *n + name + text;
        if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && whole <= bytes)
            return (struct build_id){at + sizeof *n + name, n->n_descsz};
        if (whole > bytes)
            break;
        at += whole;
        bytes -= whole;
    }
    return (struct build_id){0};
}

static struct build_id id_of(const struct dl_phdr_info *info)
{
    struct build_id id = {0};
    for (unsigned i = 0; i < info->dlpi_phnum && !id.bytes; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type == PT_NOTE)
            id = id_in_notes((const uint8_t *)info->dlpi_addr + ph->p_vaddr, ph->p_memsz);
    }
    return id;
}

/* "FOLDER/BUILD-ID.plan"; false: too long. */
static bool path_of(char out[PATH_BYTES], const char *folder, const struct build_id *id)
{
    static const char digits[] = "0123456789abcdef", end[] = ".plan";
    size_t n = 0;
    for (; folder[n] && n < PATH_BYTES; n++)
        out[n] = folder[n];
    if (id->bytes > PLAN_BUILD_ID_MOST || n + 1 + 2 * id->bytes + sizeof end > PATH_BYTES)
        return false;
    out[n++] = '/';
    for (uint32_t i = 0; i < id->bytes; i++) {
        out[n++] = digits[id->at[i] >> 4];
        out[n++] = digits[id->at[i] & 15];
    }
    __builtin_memcpy(out + n, end, sizeof end);
    return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool has_right_owner(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_uid == os_uid() && !(st->st_mode & 022) &&
           (uint64_t)st->st_size <= FILE_BYTES_MOST;
}

/* Has a part of the object's plan been mapped at its place?  Else the reason is noted. */
static bool is_mapped(const struct copied_object *o, const void *p)
{
    if (os_failed(p))
        o->listed->native = (intptr_t)p == -EEXIST ? NATIVE_NO_ROOM : NATIVE_NO_MEMORY;
    return !os_failed(p);
}

/* The copy, and its frame descriptions behind it. */
static bool map_code(int fd, const struct copied_object *o)
{
    const struct plan_header *h = o->plan.header;
    if (!is_mapped(o, os_map_file((void *)o->copy, h->copy.count, PROT_READ | PROT_EXEC, true, fd,
                                  PLAN_COPY_OFFSET)))
        return false;
    if (is_mapped(o, os_map_file((void *)(o->copy + plan_unwind_at(h)), h->unwind.count, PROT_READ,
                                 true, fd, h->unwind.offset)))
        return true;
    os_unmap((void *)o->copy, h->copy.count);
    return false;
}

/* For unwinders that look for the descriptions of an address by dl_iterate_phdr. */
static void make_headers(struct copied_object *o)
{
    const struct plan_header *h = o->plan.header;
    o->headers[0] =
        (ElfW(Phdr)){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = h->copy.count};
    o->headers[1] = (ElfW(Phdr)){.p_type = PT_LOAD,
                                 .p_flags = PF_R,
                                 .p_vaddr = plan_unwind_at(h),
                                 .p_memsz = h->unwind.count};
    o->headers[2] = o->headers[1];
    o->headers[2].p_type = PT_GNU_EH_FRAME;
}

static bool is_valid(struct copied_object *o, const void *file, uint64_t bytes,
                     const struct build_id *id)
{
    return !plan_verify(&o->plan, file, bytes) &&
           (o == copied.of || o->plan.header->spill == copied.of[0].plan.header->spill) &&
           o->plan.header->build_id_bytes == id->bytes &&
           __builtin_memcmp(o->plan.header->build_id, id->at, id->bytes) == 0;
}

/* The whole file, to read its tables.  A plan that is not valid is removed. */
static bool read_plan(int fd, const char *path, struct copied_object *o, const struct build_id *id)
{
    struct stat st;
    o->listed->native = NATIVE_REFUSED;
    if (os_stat_fd(fd, &st) || !has_right_owner(&st))
        return false;
    void *file = os_map_file(NULL, (size_t)st.st_size, PROT_READ, true, fd, 0);
    if (os_failed(file))
        return false;
    if (is_valid(o, file, (uint64_t)st.st_size, id))
        return true;
    os_unmap(file, (size_t)st.st_size);
    os_unlink(path);
    return false;
}

/* A second mapping of the copy, to run it. */
static bool map_copy(int fd, struct copied_object *o, uintptr_t bias, uintptr_t handler)
{
    const struct plan_header *h = o->plan.header;
    const uint64_t *bytes = h->statistics.function_bytes;
    o->listed->native = bytes[PLAN_SKIPPED] ? NATIVE_SKIPPED : NATIVE_NO_FUNCTION;
    if (!bytes[PLAN_TRANSLATED])
        return false;
    o->listed->native = NATIVE_NO_MEMORY;
    o->text = bias + h->text_address;
    o->copy = o->text + (uint64_t)h->distance;
    o->copy_bytes = h->copy.count;
    o->bias = bias;
    make_headers(o);
    char *first = (char *)o->copy - PLAN_COPY_OFFSET;
    struct plan_header *own =
        os_map_file(first, PLAN_COPY_OFFSET, PROT_READ | PROT_WRITE, false, fd, 0);
    if (!is_mapped(o, own))
        return false;
    own->handler = handler;
    if (os_protect(own, PLAN_COPY_OFFSET, PROT_READ) == 0 && map_code(fd, o))
        return true;
    os_unmap(own, PLAN_COPY_OFFSET);
    return false;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Those of the text at [first, end), which is `moved` bytes from its place. */
static void write_patches(const struct copied_object *o, uintptr_t first, uintptr_t end,
                          intptr_t moved)
{
    const struct plan_header *h = o->plan.header;
    for (uint64_t i = 0; i < h->patches.count; i++) {
        const struct plan_patch *p = &o->plan.patches[i];
        uintptr_t at = o->text + p->original;
        if (p->bytes > 1 && at >= first && at < end) /* 1: a trap, if the text were destroyed */
            __builtin_memcpy((void *)(at + (uintptr_t)moved), p->code, p->bytes);
    }
}

/*
 * The pages become a private copy of themselves, with the patches, in one step: another thread that a
 * library has started finds either, and no page is ever writable and executable.
 */
static bool patch_pages(const struct copied_object *o, uintptr_t first, size_t bytes)
{
    char *own = os_map(bytes);
    if (os_failed(own))
        return false;
    __builtin_memcpy(own, (const void *)first, bytes);
    write_patches(o, first, first + bytes, (intptr_t)((uintptr_t)own - first));
    if (os_protect(own, bytes, PROT_READ | PROT_EXEC) || os_move_over(own, bytes, (void *)first)) {
        os_unmap(own, bytes);
        return false;
    }
    return true;
}

/*
 * Between executable segments there may be no memory.  If a later segment cannot be patched, the first
 * ones lead to the copy, and the copy to the code of all others, which is a copy, too.
 */
static bool patch(const struct copied_object *o)
{
    bool is_patched = false;
    for (unsigned i = 0; i < o->segment_count; i++) {
        const ElfW(Phdr) *ph = &o->segments[i];
        uintptr_t start = o->bias + ph->p_vaddr, first = align_down(start, PAGE_BYTES);
        if (ph->p_type == PT_LOAD && (ph->p_flags & (PF_X | PF_W)) == PF_X)
            is_patched |= patch_pages(o, first, align_up(start + ph->p_memsz, PAGE_BYTES) - first);
    }
    return is_patched;
}

/* ---- all objects ----------------------------------------------------------------------------- */

/* Why no plan is looked for; NATIVE_NOT: it is. */
static uint32_t obstacle(const struct search *s, const struct translated_object *listed)
{
    if (plan_is_library(listed->path))
        return NATIVE_LIBRARY;
    if (!s->folder)
        return NATIVE_NO_MEMORY;
    if (!listed->build_id_bytes)
        return NATIVE_NO_BUILD_ID;
    return s->found == OBJECTS_MOST ? NATIVE_TOO_MANY : NATIVE_NOT;
}

static int open_plan(char path[PATH_BYTES], const struct search *s, const struct build_id *id)
{
    return path_of(path, s->folder, id) ? os_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0) : -1;
}

static int take(struct dl_phdr_info *info, size_t size, void *about)
{
    struct search *s = about;
    struct build_id id = id_of(info);
    struct translated_object *listed = object_list(info);
    struct copied_object *o = &copied.of[s->found];
    char path[PATH_BYTES];
    (void)size;
    listed->build_id = id.at;
    listed->build_id_bytes = id.bytes;
    if ((listed->native = obstacle(s, listed)))
        return 0;
    int fd = open_plan(path, s, &id);
    listed->native = fd == -ELOOP ? NATIVE_REFUSED : NATIVE_NO_PLAN;
    if (fd < 0)
        return 0;
    o->listed = listed;
    if (read_plan(fd, path, o, &id) && map_copy(fd, o, info->dlpi_addr, s->handler)) {
        o->segments = info->dlpi_phdr;
        o->segment_count = info->dlpi_phnum;
        s->found++;
        listed->native = NATIVE_NOT;
        s->own_unwinder |= o->plan.header->own_unwinder;
    }
    os_close(fd);
    return 0;
}

/* Plans that were found: no code has entered their copies yet. */
static void use(const struct search *s)
{
    for (uint32_t i = 0; i < s->found; i++) {
        struct copied_object o = copied.of[i];
        const struct plan_statistics *n = &o.plan.header->statistics;
        if (s->own_unwinder)
            o.listed->native = NATIVE_OWN_UNWINDER;
        else if (patch(&o))
            copied.of[copied.count++] = o;
        else
            o.listed->native = NATIVE_NO_MEMORY;
        if (!o.listed->native)
            o.listed->statistics = n;
    }
    copied.native = s->found - copied.count;
}

void translated_start(const char *folder, void (*handler)(void))
{
    struct search s = {.folder = folder, .handler = (uintptr_t)handler};
    copied.of = os_map(OBJECTS_MOST * sizeof *copied.of);
    if (os_failed(copied.of))
        return;
    dl_iterate_phdr(take, &s);
    use(&s);
}
