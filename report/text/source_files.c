/*
 * source_files.c - the source files that a report refers to, for packs.
 *
 * They are those whose lines source.c prints, of all stacks: a file that it does not open is
 * without a digest.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

struct paths {
    const char **at;
    uint32_t count;
};

static void paths_of_frame(struct paths *paths, const struct frame *frame)
{
    struct source_line lines[FRAME_LINES_MAX];
    uint32_t count = frame_lines(frame, lines, FRAME_LINES_MAX);

    for (uint32_t i = 0; i < count; i++) {
        if (!lines[i].file || lines[i].file[0] != '/')
            continue;
        paths->at = grow(paths->at, paths->count, sizeof paths->at[0]);
        paths->at[paths->count++] = lines[i].file;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct paths paths_of(const struct report *r)
{
    struct paths paths = {0};
    uint32_t kept = 0;

    for (uint32_t i = 0; i < r->frame_count; i++)
        paths_of_frame(&paths, &r->frames[i]);
    if (paths.count > 0)
        qsort(paths.at, paths.count, sizeof paths.at[0], by_name);
    for (uint32_t i = 0; i < paths.count; i++)
        if (i == 0 || strcmp(paths.at[i], paths.at[i - 1]) != 0)
            paths.at[kept++] = paths.at[i];
    paths.count = kept;
    return paths;
}

int report_sources(struct report *r, int (*each)(const struct report_source *source, void *arg),
                   void *arg)
{
    struct paths paths = paths_of(r);
    int got = 0;

    for (uint32_t i = 0; i < paths.count && !got; i++) {
        struct report_source source = {.path = paths.at[i]};
        struct stat st;
        source.fd = source_file_open(source.path, &st);
        if (source.fd >= 0 && digest_of_file(source.fd, source.digest) == 0) {
            source.bytes = (uint64_t)st.st_size;
            source.mtime_s = st.st_mtime;
        }
        got = each(&source, arg);
        if (source.fd >= 0)
            close(source.fd);
    }
    free(paths.at);
    return got;
}
