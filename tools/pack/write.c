/*
 * write.c - the archive of a pack.
 *
 * Holes of files are stored as such: a run file is sparse.  Times, owners and the machine are not
 * in the archive, so that equal runs have equal archives.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "format/bits.h"
#include "pack_priv.h"

static int archive_failed(struct archive *a, char err[TOOLS_ERROR_BYTES])
{
    int code = library.archive_errno(a);
    const char *why = library.archive_error_string(a);

    return fail(err, code > 0 ? -code : -EIO, "%.200s",
                why ? why : "the archive cannot be written");
}

/* Name the parts of a file that are data, unless all of it is. */
static void holes_put(struct archive_entry *entry, const struct member *m)
{
    off_t end = (off_t)m->bytes, at = 0, hole;

    if (lseek(m->fd, 0, SEEK_HOLE) >= end)
        return;
    while ((at = lseek(m->fd, at, SEEK_DATA)) >= 0 && at < end) {
        hole = lseek(m->fd, at, SEEK_HOLE);
        if (hole <= at || hole > end)
            hole = end;
        library.archive_entry_sparse_add_entry(entry, at, hole - at);
        at = hole;
    }
}

#define CHUNK_BYTES (256u << 10)

/* libarchive is given the whole file with its holes, which it drops. */
static int bytes_put(struct archive *a, const struct member *m, struct progress *progress,
                     char err[TOOLS_ERROR_BYTES])
{
    static char chunk[CHUNK_BYTES];

    for (uint64_t at = 0; at < m->bytes;) {
        size_t want = m->bytes - at < sizeof chunk ? (size_t)(m->bytes - at) : sizeof chunk;
        ssize_t n = pread(m->fd, chunk, want, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail(err, n < 0 ? -errno : -ESTALE, "%.200s %s", m->name,
                        n < 0 ? strerror(errno) : "was made shorter meanwhile");
        if (library.archive_write_data(a, chunk, (size_t)n) != n)
            return archive_failed(a, err);
        at += (uint64_t)n;
        progress_step(progress);
    }
    return 0;
}

/* Of all members, as bytes_put reads them. */
static uint32_t chunks_of(const struct pack *p)
{
    uint64_t chunks = 0;

    for (uint32_t i = 0; i < p->count; i++)
        chunks += (p->members[i].bytes + CHUNK_BYTES - 1) / CHUNK_BYTES;
    return chunks < UINT32_MAX ? (uint32_t)chunks : UINT32_MAX;
}

static int header_put(struct archive *a, struct archive_entry *entry, const char *name,
                      uint64_t bytes, char err[TOOLS_ERROR_BYTES])
{
    library.archive_entry_set_pathname(entry, name);
    library.archive_entry_set_filetype(entry, AE_IFREG);
    library.archive_entry_set_perm(entry, 0644);
    library.archive_entry_set_size(entry, (int64_t)bytes);
    return library.archive_write_header(a, entry) == ARCHIVE_OK ? 0 : archive_failed(a, err);
}

static int members_put(const struct pack *p, struct archive *a, char err[TOOLS_ERROR_BYTES])
{
    struct archive_entry *entry = library.archive_entry_new();
    struct progress progress;
    size_t bytes = strlen(p->manifest);
    int bad =
        entry ? header_put(a, entry, MANIFEST_NAME, bytes, err) : fail(err, -ENOMEM, "no memory");

    if (!bad && library.archive_write_data(a, p->manifest, bytes) != (ssize_t)bytes)
        bad = archive_failed(a, err);
    progress_begin(&progress, PROGRESS_PACK, chunks_of(p));
    for (uint32_t i = 0; i < p->count && !bad; i++) {
        library.archive_entry_clear(entry);
        library.archive_entry_set_size(entry, (int64_t)p->members[i].bytes); /* bounds the parts */
        holes_put(entry, &p->members[i]);
        bad = header_put(a, entry, p->members[i].name, p->members[i].bytes, err);
        if (!bad)
            bad = bytes_put(a, &p->members[i], &progress, err);
    }
    progress_end(&progress);
    if (entry)
        library.archive_entry_free(entry);
    return bad;
}

/* Otherwise libarchive would translate names from the locale's character set, which may fail. */
static bool names_are_ascii(const struct pack *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        for (const char *at = p->members[i].name; *at; at++)
            if ((unsigned char)*at >= 0x80)
                return false;
    return true;
}

int pack_is_possible(char err[TOOLS_ERROR_BYTES])
{
    return libarchive_load(err);
}

int pack_write(const struct pack *p, FILE *out, char err[TOOLS_ERROR_BYTES])
{
    int bad = libarchive_load(err);
    struct archive *a = bad ? NULL : library.archive_write_new();

    if (!a)
        return bad ? bad : fail(err, -ENOMEM, "no memory");
    library.archive_write_set_format_pax_restricted(a);
    if (!names_are_ascii(p)) /* tar has a warning for each header with it */
        library.archive_write_set_format_option(a, NULL, "hdrcharset", "BINARY");
    if (library.archive_write_add_filter_zstd(a) != ARCHIVE_OK)
        library.archive_write_add_filter_gzip(a);
    library.archive_write_set_bytes_in_last_block(a, 1); /* no zeros after the compressed data */
    bad = library.archive_write_open_FILE(a, out) == ARCHIVE_OK ? 0 : archive_failed(a, err);
    if (!bad)
        bad = members_put(p, a, err);
    if (!bad && library.archive_write_close(a) != ARCHIVE_OK)
        bad = archive_failed(a, err);
    library.archive_write_free(a);
    return bad;
}
