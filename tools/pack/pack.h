/*
 * pack.h - interface of pack: a run and the files that its names come from, as one archive.
 *
 *   open.c       a run file or a pack -> a report
 *   gather.c     a report -> the members of its pack
 *   manifest.c   the member manifest.json: what the pack has, and what it lacks
 *   write.c      members -> archive
 *   unpack.c     archive -> private folder; the archive is not trusted
 *   folder.c     the private folder, which is removed at the end and by signals
 *   library.c    libarchive, which is loaded at the first use
 *
 * A pack is a tar archive, compressed by zstd or gzip, of regular files only:
 *
 *   manifest.json   first
 *   run             the run file
 *   root/...        programs, shared objects, debugging information, and perhaps sources, by their
 *                   paths on the machine of the run: a sysroot
 *
 * A reader trusts neither the archive nor the run file in it, which report verifies.  Members
 * become files of a folder that no other user can enter; no name leads out of it, since it has no
 * links, and its size has a limit.  One process has one such folder, and removes what it has made.
 *
 * This room runs in the command only.  Below: report.h and messages.h.  Not thread-safe.
 */
#ifndef PACK_H
#define PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "messages.h"
#include "report.h"

/* ---- open.c ---------------------------------------------------------------------------------- */

/*
 * Open the run file at `path`, or the one in the pack at `path`, whose files are then used for
 * symbols.  Returns as report_open does: -EBADMSG for a pack that is not valid.
 */
int run_open(struct report **out, const char *path, char err[REPORT_ERROR_BYTES]);
/* Close it.  Print a note to stderr if lines of sources were left out. */
void run_close(struct report *r);

/* ---- gather.c -------------------------------------------------------------------------------- */

/* A file that becomes a member. */
struct member {
    char *name;
    int fd;
    uint64_t bytes;
};

struct pack {
    struct member *members; /* without the manifest */
    uint32_t count;
    char *manifest;
    uint32_t objects, debug_files, sources; /* of the members */
    uint32_t digests;                       /* of sources */
};

/*
 * Collect the members of a run: `run` is a copy of its file, `name` its name.  For each object that
 * is missing, print a note to stderr.
 */
int pack_gather(struct pack *p, struct report *r, int run, const char *name, bool with_sources,
                char err[TOOLS_ERROR_BYTES]);
void pack_free(struct pack *p);

/* ---- write.c --------------------------------------------------------------------------------- */

/* Is libarchive there? -ENOENT: no. */
int pack_is_possible(char err[TOOLS_ERROR_BYTES]);
/* Write the archive to a stream. */
int pack_write(const struct pack *p, FILE *out, char err[TOOLS_ERROR_BYTES]);

/* ---- folder.c -------------------------------------------------------------------------------- */

/* Make the private folder, below TMPDIR or /tmp.  It is removed when the process exits. */
int folder_make(char err[TOOLS_ERROR_BYTES]);
const char *folder_path(void);
/*
 * Create a file at a relative path, which has no component "." or "..", with the folders above it.
 * Returns a descriptor or -errno.
 */
int folder_create(const char *path);
/* Note a file that others create in the folder, before they do. */
void folder_note(const char *path);
void folder_remove(void);
/* A file without a name below TMPDIR or /tmp, or in memory: no signal leaves it behind.  -1: errno. */
int temporary_file(void);

#endif
