/*
 * maps.c - mappings as reported by the kernel, and which of their pages are populated.
 *
 * /proc/thread-self/maps is read in pieces and only as far as needed; long lines are cut off.
 * Opening a file is not allowed in a sandbox, so there, and without /proc, the result is "unknown".
 * Each thread reads its own file: the kernel reports no mappings for a main thread that has ended.
 */
#include "os.h"
#include "os_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>

/* Read the next line, NUL-terminated and cut off at `room`.  false: end of the file. */
static bool next_line(struct mappings *r, char *line, uint32_t room)
{
    for (uint32_t n = 0;;) {
        if (r->at == r->end) {
            long got = os_read(r->fd, r->piece, sizeof r->piece);
            if (got <= 0)
                return false;
            r->at = 0;
            r->end = (uint32_t)got;
        }
        char c = r->piece[r->at++];
        if (c == '\n') {
            line[n] = '\0';
            return true;
        }
        if (n + 1 < room)
            line[n++] = c;
    }
}

static const char *skip_blanks(const char *s)
{
    while (*s == ' ')
        s++;
    return s;
}

/* Line format: "start-end rwxp offset device inode   path". */
static bool parse(const char *line, struct mapping *m)
{
    uint64_t start, end, major, minor;
    if (!text_parse_hex(&line, &start) || *line++ != '-' || !text_parse_hex(&line, &end) ||
        *line++ != ' ')
        return false;
    m->start = start;
    m->end = end;
    m->readable = line[0] == 'r';
    m->writable = line[0] == 'r' && line[1] == 'w';
    m->guard = line[0] == '-' && line[1] == '-' && line[2] == '-';
    m->shared = line[3] == 's';
    m->protection = (line[0] == 'r' ? PROT_READ : 0) | (line[1] == 'w' ? PROT_WRITE : 0) |
                    (line[2] == 'x' ? PROT_EXEC : 0);
    line += 5;
    if (!text_parse_hex(&line, &m->offset) || *line++ != ' ' || !text_parse_hex(&line, &major) ||
        *line++ != ':' || !text_parse_hex(&line, &minor) || *line++ != ' ' ||
        !text_parse_decimal(&line, &m->inode))
        return false;
    m->major = (uint32_t)major;
    m->minor = (uint32_t)minor;
    line = skip_blanks(line);
    size_t n = text_length(line);
    struct text t = text_begin(m->path, sizeof m->path);
    text_put(&t, n < sizeof m->path ? line : line + n - (sizeof m->path - 1));
    text_end(&t);
    return true;
}

int os_mappings_open(struct mappings *all)
{
    all->at = all->end = 0;
    all->fd = os_sandboxed() ? -EPERM : os_open("/proc/thread-self/maps", O_RDONLY, 0);
    return all->fd < 0 ? all->fd : 0;
}

bool os_mappings_next(struct mappings *all, struct mapping *m)
{
    char line[512];
    return next_line(all, line, sizeof line) && parse(line, m);
}

void os_mappings_close(struct mappings *all)
{
    os_close(all->fd);
}

static int mapping_of(uintptr_t at, struct mapping *m)
{
    struct mappings all;
    int found = os_mappings_open(&all);
    if (found < 0)
        return found;
    while (!found && os_mappings_next(&all, m) && m->start <= at)
        found = at < m->end;
    os_mappings_close(&all);
    return found;
}

struct question {
    uintptr_t at;
    struct mapping *m;
    int found;
};

static void answer(void *about)
{
    struct question *q = about;
    q->found = mapping_of(q->at, q->m);
}

int os_mapping_of(uintptr_t at, struct mapping *m)
{
    struct question q = {.at = at, .m = m};
    helper_call(answer, &q);
    return q.found;
}

static bool ends_with(const char *s, size_t bytes, const char *end)
{
    size_t n = text_length(end);
    return bytes >= n && memcmp(s + bytes - n, end, n) == 0;
}

/* The path from /proc/self/map_files: unlike in maps it is neither escaped nor cut off. */
static size_t read_map_file(const struct mapping *m, char *path, size_t room)
{
    char link[64];
    struct text t = text_begin(link, sizeof link);
    text_put(&t, "/proc/self/map_files/");
    text_hex(&t, m->start);
    text_put(&t, "-");
    text_hex(&t, m->end);
    text_end(&t);
    long n = os_read_link(link, path, room - 1);
    return n > 0 && (size_t)n < room - 1 ? (size_t)n : 0;
}

static size_t copy_path(const struct mapping *m, char *path, size_t room)
{
    size_t n = text_length(m->path);
    if (n >= sizeof m->path - 1 || n >= room) /* the path may have been cut off */
        return 0;
    memcpy(path, m->path, n);
    return n;
}

#define DELETED " (deleted)" /* appended by the kernel if the directory entry was removed */

size_t os_mapped_file(uintptr_t at, char *path, size_t room)
{
    struct mapping m;
    if (os_mapping_of(at, &m) != 1)
        return 0;
    size_t n = read_map_file(&m, path, room);
    if (n == 0)
        n = copy_path(&m, path, room);
    if (n == 0 || path[0] != '/')
        return 0;
    if (ends_with(path, n, DELETED))
        n -= sizeof DELETED - 1;
    path[n] = '\0';
    return n;
}

/* msync(MS_ASYNC) fails with ENOMEM if a page is not mapped, and has no other visible effect. */
bool os_all_mapped(uintptr_t at, size_t bytes)
{
    return os_sandboxed() || CALL3(SYS_msync, at, bytes, MS_ASYNC) != -ENOMEM;
}

#define STAT_BREAK \
    47 /* number of the field in /proc/self/stat; the first field after the name has number 3 */

uintptr_t os_break_start(void)
{
    char line[1024];
    int fd = os_sandboxed() ? -EPERM : os_open("/proc/self/stat", O_RDONLY, 0);
    long n = fd < 0 ? 0 : os_read(fd, line, sizeof line - 1);
    if (fd >= 0)
        os_close(fd);
    line[n > 0 ? n : 0] = '\0';
    const char *s = line;
    for (const char *c = line; *c; c++) /* the name may contain any character */
        if (*c == ')')
            s = c + 1;
    for (int field = 2; *s && field < STAT_BREAK; s++)
        field += *s == ' ';
    uint64_t start;
    return text_parse_decimal(&s, &start) ? start : 0;
}

uint64_t os_shared_segment_bytes(int id)
{
    struct shmid_ds segment;
    if (os_sandboxed() || CALL3(SYS_shmctl, id, IPC_STAT, &segment) < 0)
        return 0;
    return align_up(segment.shm_segsz, PAGE_BYTES);
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Bits of a word of the pagemap. */
#define WORD_PRESENT (1ull << 63)
#define WORD_SWAPPED (1ull << 62)
#define WORD_FILE (1ull << 61)
#define WORD_GUARD (1ull << 58) /* since Linux 6.15 */

static uint8_t page_state(uint64_t word)
{
    if (word & WORD_GUARD)
        return 0;
    return (word & WORD_PRESENT ? PAGE_IN_MEMORY : 0) | (word & WORD_SWAPPED ? PAGE_IN_SWAP : 0) |
           (word & WORD_FILE ? PAGE_OF_FILE : 0);
}

bool os_pages_open(struct pages *p)
{
    p->fd = os_sandboxed() ? -EPERM : os_open("/proc/thread-self/pagemap", O_RDONLY, 0);
    return p->fd >= 0;
}

bool os_pages_look(const struct pages *p, uintptr_t start, uint32_t count, uint8_t *state)
{
    uint64_t word[512];
    for (uint32_t done = 0; done < count;) {
        uint32_t n = count - done < 512 ? count - done : 512;
        uint64_t offset = (start / PAGE_BYTES + done) * sizeof word[0];
        if (CALL4(SYS_pread64, p->fd, word, n * sizeof word[0], offset) !=
            (long)(n * sizeof word[0]))
            return false;
        for (uint32_t i = 0; i < n; i++)
            state[done + i] = page_state(word[i]);
        done += n;
    }
    return true;
}

void os_pages_close(struct pages *p)
{
    os_close(p->fd);
}

bool os_pages_resident(uintptr_t start, uint32_t count, uint8_t *resident)
{
    if (os_sandboxed() || CALL3(SYS_mincore, start, count * PAGE_BYTES, resident) < 0)
        return false;
    for (uint32_t i = 0; i < count; i++)
        resident[i] &= 1;
    return true;
}

bool os_swap_in_use(void)
{
    struct sysinfo info;
    return os_sandboxed() || CALL1(SYS_sysinfo, &info) < 0 || info.freeswap != info.totalswap;
}

/* By the calling thread: the main thread may have ended, and then has no memory. */
long os_read_memory(uintptr_t at, void *buffer, size_t bytes)
{
    struct iovec to = {buffer, bytes}, from = {(void *)at, bytes};
    return os_sandboxed() ? -1 : CALL6(SYS_process_vm_readv, os_tid(), &to, 1, &from, 1, 0);
}
