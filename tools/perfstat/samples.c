/*
 * samples.c - where the program spends its time: addresses that a clock samples, for --access=full.
 *
 * One event for each processor is opened on the program before its exec, and is inherited by its threads and
 * children.  The ring buffers also have the executable mappings.  A thread of the launcher drains them when one
 * is half full: all of them at once, since records must be taken in the order of their times.
 *
 * The program has no descriptor of these events.  Nothing is sampled in the kernel.
 */
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "samples_priv.h"

#define RING_PAGES 32u     /* a power of two: 4096 samples */
#define PERIOD_NS 8000000u /* a sample took up to 35 us on a virtual machine */
#define RECORD_MOST (PATH_MAX + 256u)

struct sample_ring {
    int fd;
    struct perf_event_mmap_page *head;
    char *data;
    uint64_t upto;
};

/* A record that was drained. */
struct drained {
    uint64_t time;
    size_t at; /* in sampler.text */
};

struct sampler {
    pthread_t thread;
    int stop; /* eventfd */
    struct sample_ring *rings;
    unsigned count;
    char *text; /* records */
    size_t bytes, room;
    struct drained *drained;
    size_t drained_count;
    struct sample_maps maps;
};

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- rings ----------------------------------------------------------------------------------- */

static int ring_open(struct sample_ring *ring, pid_t pid, int cpu)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = PERIOD_NS,
        .sample_type = SAMPLES_TYPE,
        .disabled = 1,
        .inherit = 1,
        .enable_on_exec = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .mmap = 1,
        .mmap2 = 1,
        .comm = 1,
        .comm_exec = 1,
        .task = 1,
        .sample_id_all = 1,
        .watermark = 1,
        .wakeup_watermark = (uint32_t)(RING_PAGES * page_bytes() / 2),
    };
    ring->fd = perf_open(&attr, pid, cpu);
    if (ring->fd < 0)
        return ring->fd;
    void *p = mmap(NULL, (1 + RING_PAGES) * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED,
                   ring->fd, 0);
    if (p == MAP_FAILED) {
        int bad = errno == EPERM ? -ENOBUFS : -errno;
        perf_close(ring->fd);
        return bad;
    }
    ring->head = p;
    ring->data = (char *)p + page_bytes();
    return 0;
}

static void rings_close_all(struct sampler *s)
{
    for (unsigned i = 0; i < s->count; i++) {
        munmap(s->rings[i].head, (1 + RING_PAGES) * page_bytes());
        perf_close(s->rings[i].fd);
    }
    s->count = 0;
}

static int rings_open_all(struct sampler *s, pid_t pid)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    int bad = 0;

    s->rings = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof *s->rings);
    for (int cpu = 0; s->rings && !bad && cpu < cpus; cpu++) {
        bad = ring_open(&s->rings[s->count], pid, cpu);
        s->count += bad == 0;
        bad = bad == -ENODEV ? 0 : bad; /* the processor is offline */
    }
    return bad ? bad : s->count > 0 ? 0 : -ENODEV;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Copy out of the ring; the data may wrap around. */
static void copy_out(const struct sample_ring *ring, uint64_t from, void *to, size_t bytes)
{
    size_t size = RING_PAGES * page_bytes(), at = from % size,
           first = bytes < size - at ? bytes : size - at;

    memcpy(to, ring->data + at, first);
    memcpy((char *)to + first, ring->data, bytes - first);
}

static bool has_room(struct sampler *s, size_t bytes)
{
    if (s->bytes + bytes <= s->room)
        return true;
    size_t room = 2 * (s->bytes + bytes);
    char *more = realloc(s->text, room);
    struct drained *all =
        more ? reallocarray(s->drained, room / sizeof(struct perf_event_header), sizeof *all)
             : NULL;
    s->text = more ? more : s->text;
    s->drained = all ? all : s->drained;
    s->room = all ? room : s->room;
    return all;
}

static void ring_drain_one(struct sampler *s, struct sample_ring *ring)
{
    uint64_t tail = ring->head->data_tail;

    while (tail < ring->upto) {
        struct perf_event_header h;
        copy_out(ring, tail, &h, sizeof h);
        if (h.size < sizeof h)
            break;
        if (h.size <= RECORD_MOST && has_room(s, h.size)) {
            copy_out(ring, tail, s->text + s->bytes, h.size);
            s->drained[s->drained_count++] =
                (struct drained){sample_record_time(s->text + s->bytes, &h), s->bytes};
            s->bytes += h.size;
        }
        tail += h.size;
    }
    atomic_store_explicit((_Atomic __u64 *)&ring->head->data_tail, ring->upto,
                          memory_order_release);
}

static int by_time(const void *a_, const void *b_)
{
    const struct drained *a = a_, *b = b_;

    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static void drain(struct sampler *s)
{
    s->bytes = s->drained_count = 0;
    for (unsigned i = 0; i < s->count; i++)
        s->rings[i].upto = atomic_load_explicit((_Atomic __u64 *)&s->rings[i].head->data_head,
                                                memory_order_acquire);
    for (unsigned i = 0; i < s->count; i++)
        ring_drain_one(s, &s->rings[i]);
    if (s->drained_count > 0)
        qsort(s->drained, s->drained_count, sizeof *s->drained, by_time);
    for (size_t i = 0; i < s->drained_count; i++) {
        struct perf_event_header h;
        memcpy(&h, s->text + s->drained[i].at, sizeof h);
        sample_maps_take(&s->maps, s->text + s->drained[i].at, &h);
    }
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void *drain_until_stop(void *sampler)
{
    struct sampler *s = sampler;
    struct pollfd *all = calloc(s->count + 1ul, sizeof *all);

    for (unsigned i = 0; all && i < s->count; i++)
        all[i] = (struct pollfd){.fd = s->rings[i].fd, .events = POLLIN};
    if (all)
        all[s->count] = (struct pollfd){.fd = s->stop, .events = POLLIN};
    while (all && !all[s->count].revents) {
        if (poll(all, s->count + 1ul, -1) < 0)
            continue;
        drain(s);
        for (unsigned i = 0; i < s->count; i++)
            if (all[i].revents & POLLHUP) /* all tasks of the event have ended */
                all[i].fd = -1;
    }
    free(all);
    return NULL;
}

static int thread_start(struct sampler *s)
{
    sigset_t all, before;

    s->stop = eventfd(0, EFD_CLOEXEC);
    if (s->stop < 0)
        return -errno;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int bad = -pthread_create(&s->thread, NULL, drain_until_stop, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (bad)
        close(s->stop);
    return bad;
}

static int refused(char err[TOOLS_ERROR_BYTES], int bad)
{
    if (bad == -EACCES || bad == -EPERM)
        return fail(err, bad, "perf events are not permitted (kernel.perf_event_paranoid)");
    if (bad == -ENOBUFS)
        return fail(err, bad, "no memory for ring buffers (kernel.perf_event_mlock_kb)");
    return fail(err, bad, "perf events: %s", strerror(-bad));
}

int sampler_start(struct sampler **out, pid_t pid, char err[TOOLS_ERROR_BYTES])
{
    struct sampler *s = calloc(1, sizeof *s);
    int bad = !s ? -ENOMEM : test_without("perf-samples") ? -EACCES : rings_open_all(s, pid);

    if (!bad)
        bad = thread_start(s);
    *out = bad ? NULL : s;
    if (bad && s) {
        rings_close_all(s);
        free(s->rings);
        free(s);
    }
    return bad ? refused(err, bad) : 0;
}

size_t sampler_end(struct sampler *s, const struct sample_row **rows)
{
    uint64_t one = 1;

    while (write(s->stop, &one, sizeof one) < 0 && errno == EINTR)
        ;
    pthread_join(s->thread, NULL);
    close(s->stop);
    drain(s);
    rings_close_all(s);
    return sample_maps_rows(&s->maps, rows);
}

void sampler_free(struct sampler *s)
{
    if (!s)
        return;
    sample_maps_free(&s->maps);
    free(s->rings);
    free(s->text);
    free(s->drained);
    free(s);
}
