/*
 * unpack.c - the members of an archive as files of the private folder.
 *
 * The archive is not trusted: it may come from anyone.  Only regular files are accepted, with the
 * names that pack.h has; a name is created once, so no member replaces another or is written
 * through it.  The sum of the sizes has a limit, which is checked before anything is written: an
 * archive of a few KiB can have members of many GiB.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/bits.h"
#include "pack_priv.h"

#define MEMBERS_MAX 100000u
#define BYTES_FREE (1ull << 30) /* may be unpacked from any archive, */
#define RATIO_MAX 100u          /* and that many times the size of a larger one */
#define READ_BYTES (128u << 10)

struct unpacking {
    struct archive *archive;
    const char *path; /* of the archive */
    struct stat st;
    uint64_t left; /* bytes that may still be written */
    uint32_t count;
    bool has_run;
    json_t *manifest;
};

bool is_archive(int fd)
{
    static const unsigned char gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    unsigned char first[4] = {0};

    return pread(fd, first, sizeof first, 0) > 0 &&
           (memcmp(first, gzip, sizeof gzip) == 0 || memcmp(first, zstd, sizeof zstd) == 0);
}

static int refuse(const struct unpacking *u, const char *why, char err[TOOLS_ERROR_BYTES])
{
    return fail(err, -EBADMSG, "%.200s is not a valid pack: %.200s", u->path, why);
}

/* An error of libarchive. */
static int refuse_archive(const struct unpacking *u, char err[TOOLS_ERROR_BYTES])
{
    const char *why = library.archive_error_string(u->archive);

    return refuse(u, why ? why : "it cannot be read", err);
}

static int write_failed(const struct unpacking *u, int code, char err[TOOLS_ERROR_BYTES])
{
    return fail(err, code, "%.200s cannot be unpacked into %.200s: %s", u->path, folder_path(),
                strerror(-code));
}

/* "root/" and components, none of which is empty, "." or "..". */
static bool is_below_root(const char *name)
{
    size_t bytes = strlen(ROOT_NAME);

    if (strncmp(name, ROOT_NAME, bytes) != 0 || name[bytes] != '/' || strlen(name) >= PATH_MAX)
        return false;
    for (const char *at = name; *at; at += *at == '/') {
        size_t n = strcspn(at, "/");
        if (n == 0 || strncmp(at, ".", n) == 0 || (n == 2 && strncmp(at, "..", n) == 0))
            return false;
        at += n;
        if (at[0] == '/' && !at[1])
            return false;
    }
    return true;
}

static int write_at(int fd, const char *from, size_t bytes, int64_t offset)
{
    while (bytes > 0) {
        ssize_t n = pwrite(fd, from, bytes, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        from += n;
        bytes -= (size_t)n;
        offset += n;
    }
    return 0;
}

/* Write the data of a member; what lies between the blocks of a sparse one stays a hole. */
static int data_write(struct unpacking *u, int fd, uint64_t bytes, char err[TOOLS_ERROR_BYTES])
{
    const void *from;
    size_t n;
    int64_t at;
    int got, bad;

    while ((got = library.archive_read_data_block(u->archive, &from, &n, &at)) == ARCHIVE_OK) {
        if (at < 0 || (uint64_t)at > bytes || n > bytes - (uint64_t)at || n > u->left)
            return refuse(u, "a member is larger than it should be", err);
        u->left -= n;
        bad = write_at(fd, from, n, at);
        if (bad)
            return write_failed(u, bad, err);
    }
    if (got != ARCHIVE_EOF)
        return refuse_archive(u, err);
    return ftruncate(fd, (off_t)bytes) < 0 ? write_failed(u, -errno, err) : 0;
}

/* The size of a sparse file is not that of its data: only the run may be one. */
static int check_size(const struct unpacking *u, const char *name, int64_t bytes,
                      char err[TOOLS_ERROR_BYTES])
{
    bool is_run = strcmp(name, RUN_NAME) == 0;

    if (bytes < 0 || (!is_run && (uint64_t)bytes > u->left))
        return refuse(u, "its files are much larger than the archive", err);
    if (strcmp(name, MANIFEST_NAME) == 0 && (uint64_t)bytes > MANIFEST_BYTES_MAX)
        return refuse(u, "its manifest is too large", err);
    return 0;
}

/* Root unpacks another user's pack: its files stay that user's, so that root trusts them as little. */
static int owner_set(const struct unpacking *u, int fd)
{
    if (geteuid() != 0 || u->st.st_uid == 0)
        return 0;
    return fchown(fd, u->st.st_uid, u->st.st_gid) < 0 ? -errno : 0;
}

static int manifest_take(struct unpacking *u, int fd, uint64_t bytes, char err[TOOLS_ERROR_BYTES])
{
    char *text = malloc(bytes + 1), why[TOOLS_ERROR_BYTES] = "no memory for its manifest";

    if (text && pread(fd, text, bytes, 0) == (ssize_t)bytes)
        u->manifest = manifest_read(text, bytes, why);
    free(text);
    return u->manifest ? 0 : refuse(u, why, err);
}

static int member_write(struct unpacking *u, const char *name, uint64_t bytes,
                        char err[TOOLS_ERROR_BYTES])
{
    int fd = folder_create(name);
    int bad = fd < 0 ? fd : owner_set(u, fd);

    if (bad == -EEXIST || bad == -ENOTDIR)
        bad = refuse(u, "two members have the same name", err);
    else if (bad)
        bad = write_failed(u, bad, err);
    else
        bad = data_write(u, fd, bytes, err);
    if (!bad && strcmp(name, MANIFEST_NAME) == 0)
        bad = manifest_take(u, fd, bytes, err);
    if (fd >= 0)
        close(fd);
    return bad;
}

static int member_take(struct unpacking *u, struct archive_entry *entry,
                       char err[TOOLS_ERROR_BYTES])
{
    const char *name = library.archive_entry_pathname(entry);
    int64_t bytes = library.archive_entry_size(entry);
    int bad;

    if (!name || library.archive_entry_filetype(entry) != AE_IFREG ||
        library.archive_entry_hardlink(entry))
        return refuse(u, "it has a member that is no regular file", err);
    if (u->count++ == 0 && strcmp(name, MANIFEST_NAME) != 0)
        return refuse(u, "its first member is not " MANIFEST_NAME, err);
    if (u->count > MEMBERS_MAX)
        return refuse(u, "it has too many members", err);
    if (strcmp(name, MANIFEST_NAME) != 0 && strcmp(name, RUN_NAME) != 0 && !is_below_root(name))
        return refuse(u, "it has a member with a name that is not allowed", err);
    bad = check_size(u, name, bytes, err);
    u->has_run |= strcmp(name, RUN_NAME) == 0;
    return bad ? bad : member_write(u, name, (uint64_t)bytes, err);
}

static int members_take(struct unpacking *u, char err[TOOLS_ERROR_BYTES])
{
    struct archive_entry *entry;
    int got, bad = 0;

    while (!bad && (got = library.archive_read_next_header(u->archive, &entry)) == ARCHIVE_OK)
        bad = member_take(u, entry, err);
    if (bad)
        return bad;
    if (got != ARCHIVE_EOF)
        return refuse_archive(u, err);
    return u->has_run ? 0 : refuse(u, "it has no run", err);
}

int unpack(int fd, const char *path, json_t **manifest, char err[TOOLS_ERROR_BYTES])
{
    struct unpacking u = {.path = path};
    int bad = libarchive_load(err);

    if (bad)
        return bad;
    if (fstat(fd, &u.st) < 0)
        return fail(err, -errno, "%.200s cannot be read: %s", path, strerror(errno));
    if (geteuid() != 0 && u.st.st_uid != geteuid()) /* as for run files */
        return fail(err, -EACCES, "%.200s belongs to user %u, not to you", path, u.st.st_uid);
    u.left = (uint64_t)u.st.st_size * RATIO_MAX;
    u.left = u.left < BYTES_FREE ? BYTES_FREE : u.left;
    u.archive = library.archive_read_new();
    if (!u.archive)
        return fail(err, -ENOMEM, "no memory to read %.200s", path);
    library.archive_read_support_format_tar(u.archive);
    library.archive_read_support_filter_gzip(u.archive);
    library.archive_read_support_filter_zstd(u.archive);
    if (library.archive_read_open_fd(u.archive, fd, READ_BYTES) != ARCHIVE_OK)
        bad = refuse_archive(&u, err);
    else
        bad = members_take(&u, err);
    library.archive_read_free(u.archive);
    if (bad)
        json_decref(u.manifest);
    else
        *manifest = u.manifest;
    return bad;
}
