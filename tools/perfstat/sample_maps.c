/*
 * sample_maps.c - from perf records to counts of samples by file and offset.
 *
 * A process has a list of its executable mappings, by PERF_RECORD_MMAP2.  A fork copies it, an exec empties
 * it.  Unmapping has no record: a later mapping of the same addresses takes precedence.  A process that is
 * not known, since its fork was lost, has no mappings.
 */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "samples_priv.h"

#define UNKNOWN UINT32_MAX /* no path */
#define MERGE_LEAST 4096u

struct mapping {
    uint64_t start, end, offset;
    uint32_t path;
};

struct process_maps {
    uint32_t pid, threads;
    struct mapping *at;
    size_t count;
};

struct sample_count {
    uint32_t path;
    uint64_t offset, samples;
};

/* ---- processes ------------------------------------------------------------------------------- */

static struct process_maps *process_find(struct sample_maps *m, uint32_t pid)
{
    for (size_t i = 0; i < m->process_count; i++)
        if (m->processes[i].pid == pid)
            return &m->processes[i];
    return NULL;
}

/* NULL: out of memory. */
static struct process_maps *process_get(struct sample_maps *m, uint32_t pid)
{
    struct process_maps *found = process_find(m, pid);
    struct process_maps *more =
        found ? NULL : reallocarray(m->processes, m->process_count + 1, sizeof *more);

    if (!more)
        return found;
    m->processes = more;
    more[m->process_count] = (struct process_maps){.pid = pid, .threads = 1};
    return &more[m->process_count++];
}

static void process_empty(struct process_maps *p)
{
    if (!p)
        return;
    free(p->at);
    p->at = NULL;
    p->count = 0;
}

/* A fork of a process, or a new thread. */
static void take_fork(struct sample_maps *m, uint32_t pid, uint32_t parent)
{
    struct process_maps *p = process_get(m, pid), *from = process_find(m, parent);

    if (!p)
        return;
    if (pid == parent) {
        p->threads++;
        return;
    }
    process_empty(p);
    p->threads = 1;
    p->at = from && from->count > 0 ? reallocarray(NULL, from->count, sizeof *p->at) : NULL;
    if (!p->at)
        return;
    memcpy(p->at, from->at, from->count * sizeof *p->at);
    p->count = from->count;
}

static void take_exit(struct sample_maps *m, uint32_t pid)
{
    struct process_maps *p = process_find(m, pid);

    if (!p || --p->threads > 0)
        return;
    process_empty(p);
    *p = m->processes[--m->process_count];
}

/* ---- mappings -------------------------------------------------------------------------------- */

static uint32_t path_number(struct sample_maps *m, const char *path)
{
    for (uint32_t i = 0; i < m->path_count; i++)
        if (strcmp(m->paths[i], path) == 0)
            return i;
    char **more = reallocarray(m->paths, m->path_count + 1ul, sizeof *more), *copy;
    if (!more)
        return UNKNOWN;
    m->paths = more;
    copy = strdup(path);
    if (!copy)
        return UNKNOWN;
    more[m->path_count] = copy;
    return m->path_count++;
}

/* Without those that it covers. */
static void mapping_add(struct process_maps *p, const struct mapping *new)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->count; i++)
        if (p->at[i].start < new->start || p->at[i].end > new->end)
            p->at[kept++] = p->at[i];
    p->count = kept;
    struct mapping *more = reallocarray(p->at, kept + 1, sizeof *more);
    if (!more)
        return;
    p->at = more;
    more[p->count++] = *new;
}

/* Body of PERF_RECORD_MMAP2. */
struct mmap_words {
    uint32_t pid, tid;
    uint64_t address, bytes, offset;
    uint32_t major, minor;
    uint64_t inode, generation;
    uint32_t protection, flags;
};

static void take_mapping(struct sample_maps *m, const char *body, size_t bytes)
{
    struct mmap_words words;

    if (bytes <= sizeof words || !memchr(body + sizeof words, '\0', bytes - sizeof words))
        return;
    memcpy(&words, body, sizeof words);
    struct process_maps *p = process_get(m, words.pid);
    if (p)
        mapping_add(p, &(struct mapping){.start = words.address,
                                         .end = words.address + words.bytes,
                                         .offset = words.offset,
                                         .path = path_number(m, body + sizeof words)});
}

/* ---- counts ---------------------------------------------------------------------------------- */

static int by_position(const void *a_, const void *b_)
{
    const struct sample_count *a = a_, *b = b_;

    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void merge(struct sample_maps *m)
{
    size_t kept = 0;

    if (m->count == 0)
        return;
    qsort(m->counts, m->count, sizeof *m->counts, by_position);
    for (size_t i = 1; i < m->count; i++)
        if (by_position(&m->counts[kept], &m->counts[i]) == 0)
            m->counts[kept].samples += m->counts[i].samples;
        else
            m->counts[++kept] = m->counts[i];
    m->count = m->merged = kept + 1;
}

static void count_add(struct sample_maps *m, uint32_t path, uint64_t offset)
{
    if (m->count >= MERGE_LEAST && m->count >= 2 * m->merged)
        merge(m);
    if (m->count == m->room) {
        size_t room = m->room ? 2 * m->room : MERGE_LEAST;
        struct sample_count *more = reallocarray(m->counts, room, sizeof *more);
        if (!more)
            return;
        m->counts = more;
        m->room = room;
    }
    m->counts[m->count++] = (struct sample_count){path, offset, 1};
}

static void take_sample(struct sample_maps *m, uint64_t address, uint32_t pid)
{
    const struct process_maps *p = process_find(m, pid);

    for (size_t i = p ? p->count : 0; i-- > 0;) {
        const struct mapping *at = &p->at[i];
        if (address >= at->start && address < at->end) {
            count_add(m, at->path, at->path == UNKNOWN ? 0 : address - at->start + at->offset);
            return;
        }
    }
    count_add(m, UNKNOWN, 0);
}

size_t sample_maps_rows(struct sample_maps *m, const struct sample_row **rows)
{
    merge(m);
    free(m->rows);
    m->rows = calloc(m->count + 1, sizeof *m->rows);
    *rows = m->rows;
    for (size_t i = 0; m->rows && i < m->count; i++)
        m->rows[i] =
            (struct sample_row){m->counts[i].path == UNKNOWN ? "" : m->paths[m->counts[i].path],
                                m->counts[i].offset, m->counts[i].samples};
    return m->rows ? m->count : 0;
}

void sample_maps_free(struct sample_maps *m)
{
    for (size_t i = 0; i < m->process_count; i++)
        free(m->processes[i].at);
    for (uint32_t i = 0; i < m->path_count; i++)
        free(m->paths[i]);
    free(m->processes);
    free(m->paths);
    free(m->counts);
    free(m->rows);
    *m = (struct sample_maps){0};
}

/* ---- records --------------------------------------------------------------------------------- */

/* Body of a sample. */
struct sample_words {
    uint64_t address;
    uint32_t pid, tid;
    uint64_t time;
};

/* Body of PERF_RECORD_FORK and PERF_RECORD_EXIT. */
struct task_words {
    uint32_t pid, parent, tid, parent_tid;
    uint64_t time;
};

uint64_t sample_record_time(const char *record, const struct perf_event_header *head)
{
    uint64_t time = 0;

    if (head->size >= sizeof *head + sizeof time) /* of samples, too, it is the last word */
        memcpy(&time, record + head->size - sizeof time, sizeof time);
    return time;
}

void sample_maps_take(struct sample_maps *m, const char *record,
                      const struct perf_event_header *head)
{
    const char *body = record + sizeof *head;
    size_t bytes = head->size - sizeof *head;
    struct sample_words sample;
    struct task_words task;

    if (head->type == PERF_RECORD_SAMPLE && bytes >= sizeof sample) {
        memcpy(&sample, body, sizeof sample);
        take_sample(m, sample.address, sample.pid);
    } else if (head->type == PERF_RECORD_MMAP2) {
        take_mapping(m, body, bytes);
    } else if (bytes >= sizeof task) {
        memcpy(&task, body, sizeof task);
        if (head->type == PERF_RECORD_FORK)
            take_fork(m, task.pid, task.parent);
        else if (head->type == PERF_RECORD_EXIT)
            take_exit(m, task.pid);
        else if (head->type == PERF_RECORD_COMM && head->misc & PERF_RECORD_MISC_COMM_EXEC)
            process_empty(process_find(m, task.pid));
    }
}
