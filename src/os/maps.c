/*
 * maps.c - what the kernel says is mapped at an address.
 *
 * /proc/self/maps is read in pieces and only as far as needed; lines are cut at PIECE.  Opening it
 * is no call for a sandbox, so there, and without /proc, the answer is that nobody knows.
 */
#include "os.h"

#include <errno.h>
#include <fcntl.h>

#define PIECE 1024u

struct reader {
    int fd;
    uint32_t at, end;
    char piece[PIECE];
};

/* The next line, NUL-terminated, cut at `room`; false: there is none. */
static bool next_line(struct reader *r, char *line, uint32_t room)
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
    m->writable = line[0] == 'r' && line[1] == 'w';
    for (int field = 0; field < 4; field++)
        line = skip_word(line);
    size_t n = text_length(line);
    struct text t = text_begin(m->path, sizeof m->path);
    text_put(&t, n < sizeof m->path ? line : line + n - (sizeof m->path - 1));
    text_end(&t);
    return true;
}

int os_mapping_of(uintptr_t at, struct mapping *m)
{
    char line[512];
    struct reader r = {.fd = os_sandboxed() ? -EPERM
                                            : os_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0)};
    int found = 0;
    if (r.fd < 0)
        return r.fd;
    while (!found && next_line(&r, line, sizeof line) && parse(line, m) && m->start <= at)
        found = at < m->end;
    os_close(r.fd);
    return found;
}
