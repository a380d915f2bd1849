/*
 * heap_core.c - the heap in the run file as an ELF core file, which debuggers open.
 *
 *   | ELF header | program headers | notes | hole up to a page | data of the first range | ...
 *
 * Each range of used units is a PT_LOAD at its address in the process.  Holes of the run file stay
 * holes.  The notes name the program and its process; registers are not in the run file, and are 0.
 * libelf writes the headers.
 */
#include <errno.h>
#include <libelf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heap.h"
#include "machine.h"

#define RANGES_MAX 65000u /* of PT_LOAD; with more, units between them are written, too */
#define NAME "CORE"

struct range_of_heap {
    uint64_t start, end; /* offsets in the heap */
    uint64_t at;         /* offset of its data in the core file */
};

struct core {
    struct heap heap;
    struct range_of_heap *ranges;
    uint32_t count;
    const char *failed; /* a function of libelf has failed; NULL: none */
};

/* ---- ranges ---------------------------------------------------------------------------------- */

static void ranges_make(struct core *c)
{
    const struct heap *h = &c->heap;

    for (uint32_t i = 0; i < h->part_count; i++) {
        uint64_t start = h->parts[i].unit << RTC_UNIT_SHIFT,
                 end = start + (h->parts[i].units << RTC_UNIT_SHIFT);
        struct range_of_heap *last = c->count ? &c->ranges[c->count - 1] : NULL;
        if (last && (start <= last->end || c->count == RANGES_MAX)) {
            last->end = end > last->end ? end : last->end;
            continue;
        }
        c->ranges = grow(c->ranges, c->count, sizeof c->ranges[0]);
        c->ranges[c->count++] = (struct range_of_heap){start, end, 0};
    }
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* The owner's name takes 8 bytes, as in the cores of the kernel. */
static char *note_add(char *at, uint32_t type, const void *data, size_t bytes)
{
    GElf_Nhdr head = {.n_namesz = sizeof NAME, .n_descsz = (GElf_Word)bytes, .n_type = type};

    memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, NAME, sizeof NAME);
    memcpy(at + sizeof head + 8, data, bytes);
    return at + sizeof head + 8 + align_up(bytes, 4);
}

#define NOTES_BYTES                                                  \
    (2 * (sizeof(GElf_Nhdr) + 8) + align_up(sizeof(prstatus_t), 4) + \
     align_up(sizeof(prpsinfo_t), 4))

/* Arguments, separated by blanks: the kernel's pr_psargs. */
static void copy_arguments(const struct image *image, char *to, size_t room)
{
    uint32_t n = image->argv_bytes < room ? image->argv_bytes : (uint32_t)room - 1;

    for (uint32_t i = 0; i + 1 < n; i++)
        to[i] = image->argv[i] ? image->argv[i] : ' ';
}

static char *notes_make(const struct image *image)
{
    char *notes = xalloc(calloc(1, NOTES_BYTES)), *at = notes;
    prpsinfo_t info = {.pr_pid = (int)image->pid, .pr_ppid = (int)image->ppid, .pr_sname = 'X'};
    prstatus_t status = {.pr_pid = (int)image->pid, .pr_ppid = (int)image->ppid};

    snprintf(info.pr_fname, sizeof info.pr_fname, "%.*s", (int)sizeof info.pr_fname - 1,
             base_name(image->exe));
    copy_arguments(image, info.pr_psargs, sizeof info.pr_psargs);
    at = note_add(at, NT_PRSTATUS, &status, sizeof status);
    note_add(at, NT_PRPSINFO, &info, sizeof info);
    return notes;
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool headers_fill(struct core *c, Elf *elf, uint64_t notes_at)
{
    GElf_Phdr notes = {
        .p_type = PT_NOTE, .p_offset = notes_at, .p_filesz = NOTES_BYTES, .p_align = 4};

    GElf_Ehdr head;

    if (!gelf_newehdr(elf, ELFCLASS64) || !gelf_newphdr(elf, c->count + 1) ||
        !gelf_getehdr(elf, &head))
        return false;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_type = ET_CORE;
    head.e_machine = ELF_MACHINE;
    head.e_version = EV_CURRENT;
    head.e_phoff = sizeof(Elf64_Ehdr);
    if (!gelf_update_ehdr(elf, &head) || !gelf_update_phdr(elf, 0, &notes))
        return false;
    for (uint32_t i = 0; i < c->count; i++) {
        const struct range_of_heap *range = &c->ranges[i];
        uint64_t bytes = range->end - range->start;
        GElf_Phdr load = {.p_type = PT_LOAD,
                          .p_flags = PF_R | PF_W,
                          .p_offset = range->at,
                          .p_vaddr = c->heap.base + range->start,
                          .p_filesz = bytes,
                          .p_memsz = bytes,
                          .p_align = PAGE_BYTES};
        if (!gelf_update_phdr(elf, (int)i + 1, &load))
            return false;
    }
    elf_flagelf(elf, ELF_C_SET, ELF_F_LAYOUT);
    return true;
}

static int headers_write(struct core *c, int fd, uint64_t notes_at)
{
    Elf *elf = elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_begin(fd, ELF_C_WRITE, NULL);
    int err = 0;

    errno = 0;
    if (!elf || !headers_fill(c, elf, notes_at) || elf_update(elf, ELF_C_WRITE) < 0) {
        err = errno ? -errno : -EIO;
        c->failed = errno ? NULL : elf_errmsg(-1);
    }
    elf_end(elf);
    return err;
}

/* Copy the data of a range; its holes stay holes. */
static int range_write(const struct heap *h, const struct range_of_heap *range, int fd)
{
    uint64_t at = h->offset + range->start, end = h->offset + range->end;
    char *buffer = xalloc(malloc(PAGE_BYTES * 16));
    int err = 0;

    for (uint64_t stop; !err && at < end && view_next_data(&h->report->view, &at, &stop, end);)
        for (size_t n; !err && at < stop; at += n) {
            n = stop - at < PAGE_BYTES * 16 ? (size_t)(stop - at) : PAGE_BYTES * 16;
            err = view_read(&h->report->view, at, buffer, n);
            if (!err)
                err = write_at(fd, buffer, n, range->at + (at - h->offset - range->start));
        }
    free(buffer);
    return err;
}

/* As the kernel's cores: other users may not read the program's data.  -ESPIPE: not a regular file. */
static int file_prepare(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return -ESPIPE;
    return fchmod(fd, st.st_mode & 0600) < 0 ? -errno : 0;
}

static int core_put(FILE *out, void *core)
{
    struct core *c = core;
    uint64_t notes_at = sizeof(Elf64_Ehdr) + (c->count + 1ull) * sizeof(Elf64_Phdr);
    uint64_t at = align_up(notes_at + NOTES_BYTES, PAGE_BYTES);
    char *notes = notes_make(c->heap.image);
    int fd = fileno(out), err = file_prepare(fd);

    for (uint32_t i = 0; i < c->count; i++) {
        c->ranges[i].at = at;
        at += c->ranges[i].end - c->ranges[i].start;
    }
    if (!err)
        err = headers_write(c, fd, notes_at);
    if (!err)
        err = write_at(fd, notes, NOTES_BYTES, notes_at);
    if (!err && ftruncate(fd, (off_t)at) < 0)
        err = -errno;
    for (uint32_t i = 0; !err && i < c->count; i++)
        err = range_write(&c->heap, &c->ranges[i], fd);
    free(notes);
    return err;
}

int report_write_core(struct report *r, const char *path, uint32_t pid, char *err, size_t room)
{
    struct core c = {0};
    uint32_t number;
    int bad = images_refresh(r);

    if (bad)
        snprintf(err, room, "%.300s: the run's tables are damaged", r->view.name);
    if (!bad)
        bad = heap_image_of(r, pid, &number, err, room);
    if (!bad)
        bad = heap_open(r, &c.heap, number, err, room);
    if (bad)
        return bad;
    ranges_make(&c);
    bad = write_whole(path, core_put, &c);
    if (bad)
        snprintf(err, room, "%.300s cannot be written: %s", path,
                 c.failed ? c.failed : strerror(-bad));
    free(c.ranges);
    heap_close(&c.heap);
    return bad;
}
