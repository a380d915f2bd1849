/*
 * maps.c - what the kernel says is mapped, and which pages of it hold something.
 *
 * /proc/self/maps is read in pieces and only as far as needed; long lines are cut.  Opening it is no
 * call for a sandbox, so there, and without /proc, the answer is that nobody knows.  Each thread asks for
 * itself: of a main thread that is over the kernel says that nothing is mapped.
 */
#include "os.h"
#include "os_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* The next line, NUL-terminated, cut at `room`; false: there is none. */
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

static const char *skip_word(const char *s)
{
    while (*s && *s != ' ')
        s++;
    while (*s == ' ')
        s++;
    return s;
}

/* "start-end rwxp offset device inode   path" */
static bool parse(const char *line, struct mapping *m)
{
    uint64_t start, end;
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
    for (int field = 0; field < 4; field++)
        line = skip_word(line);
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

int os_mapping_of(uintptr_t at, struct mapping *m)
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

/* ---- pages ------------------------------------------------------------------------------------ */

#define PAGE_PRESENT (1ull << 63)
#define PAGE_SWAPPED (1ull << 62)

bool os_pages_open(struct pages *p)
{
    p->fd = os_sandboxed() ? -EPERM : os_open("/proc/thread-self/pagemap", O_RDONLY, 0);
    return p->fd >= 0;
}

bool os_pages_held(const struct pages *p, uintptr_t start, uint32_t count, uint8_t *held)
{
    uint64_t word[512];
    for (uint32_t done = 0; done < count;) {
        uint32_t n = count - done < 512 ? count - done : 512;
        uint64_t offset = (start / PAGE_BYTES + done) * sizeof word[0];
        if (CALL4(SYS_pread64, p->fd, word, n * sizeof word[0], offset) != (long)(n * sizeof word[0]))
            return false;
        for (uint32_t i = 0; i < n; i++)
            held[done + i] = (word[i] & (PAGE_PRESENT | PAGE_SWAPPED)) != 0;
        done += n;
    }
    return true;
}

void os_pages_close(struct pages *p)
{
    os_close(p->fd);
}

long os_read_memory(uintptr_t at, void *buffer, size_t bytes)
{
    struct iovec to = {buffer, bytes}, from = {(void *)at, bytes};
    return os_sandboxed() ? -1 : CALL6(SYS_process_vm_readv, os_pid(), &to, 1, &from, 1, 0);
}
