/*
 * rings.c - perf ring buffers: forks, execs and exits of a program's threads and children.
 *
 * A dummy event is opened on the program for each processor, because the ring buffer of an
 * inherited event belongs to one processor.  All threads and children inherit it.  Its ring buffer
 * has a record of each fork, exec and exit, with a time by which the records of all rings are
 * sorted.  Inherited counting events write to the same rings.  At the end of each thread they
 * deliver all that it counted, even before the launcher had seen it.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "interval_priv.h"

#define RING_PAGES 32u      /* a power of two: about 2500 records */
#define RING_PAGES_LEAST 4u /* for users with a low limit on locked memory */
#define RECORD_MAX 256u
#define LOOKS_MAX 16u /* on a busy machine the rings never stop moving */
#define SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

struct ring {
    int fd, cpu;
    size_t pages;
    struct perf_event_mmap_page *head;
    char *data;
    uint64_t upto; /* how far the ring is drained */
    bool reads_lost;
};

struct counted {
    int fd;
    unsigned counter;
    uint64_t id; /* as in PERF_RECORD_READ */
};

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static int ring_map(struct ring *ring)
{
    void *p = MAP_FAILED;
    for (size_t pages = RING_PAGES; p == MAP_FAILED && pages >= RING_PAGES_LEAST; pages /= 2) {
        ring->pages = pages;
        p = mmap(NULL, (1 + pages) * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    }
    if (p == MAP_FAILED)
        return errno == EPERM ? -ENOBUFS : -errno;
    ring->head = p;
    ring->data = (char *)p + page_bytes();
    return 0;
}

static int ring_open(struct ring *ring, pid_t pid, int cpu)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = SAMPLE_TYPE,
        .inherit = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .comm = 1,
        .comm_exec = 1,
        .task = 1,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .read_format = PERF_FORMAT_LOST,
        .watermark = 1, /* else records of this kind do not wake the reader */
        .wakeup_watermark = 1,
    };
    ring->cpu = cpu;
    ring->fd = perf_open(&attr, pid, cpu);
    ring->reads_lost = ring->fd >= 0;
    attr.read_format = 0; /* for kernels before Linux 6.0 */
    if (ring->fd == -EINVAL)
        ring->fd = perf_open(&attr, pid, cpu);
    if (ring->fd < 0)
        return ring->fd;
    int bad = ring_map(ring);
    if (bad)
        perf_close(ring->fd);
    return bad;
}

int rings_open(struct rings *rings, pid_t pid)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    int bad = cpus > 0 ? 0 : -ENODEV;
    *rings = (struct rings){.at = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof *rings->at)};
    for (int cpu = 0; !bad && rings->at && cpu < cpus; cpu++) {
        bad = ring_open(&rings->at[rings->count], pid, cpu);
        rings->count += bad == 0;
        bad = bad == -ENODEV ? 0 : bad; /* the processor is offline */
    }
    if (!rings->at || (!bad && rings->count == 0))
        bad = -ENODEV;
    if (bad)
        rings_close(rings);
    return bad;
}

/* false: the event is not available. */
static bool count_one(struct rings *rings, const struct ring *ring, const struct counter *c,
                      unsigned number, pid_t pid)
{
    struct counted *counted = &rings->counted[rings->counted_count];
    struct perf_event_attr attr = counter_attr(c, COUNT_ALL_FROM_EXEC);
    attr.inherit_stat = 1;
    attr.read_format |= PERF_FORMAT_ID;
    attr.sample_type = SAMPLE_TYPE;
    attr.sample_id_all = 1;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    if (c->user_alone)
        attr.exclude_kernel = attr.exclude_hv = 1;
    *counted = (struct counted){.fd = perf_open(&attr, pid, ring->cpu), .counter = number};
    if (counted->fd < 0)
        return false;
    rings->counted_count++;
    return ioctl(counted->fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) == 0 &&
           ioctl(counted->fd, PERF_EVENT_IOC_ID, &counted->id) == 0;
}

void rings_count(struct rings *rings, const struct counters *counters, pid_t pid)
{
    rings->counted = calloc((size_t)rings->count * counters->count + 1, sizeof *rings->counted);
    for (unsigned i = 0; rings->counted && i < counters->count; i++) {
        rings->has_end_counts[i] = counters->at[i].fd >= 0 && !test_without("inherit-stat");
        for (unsigned k = 0; rings->has_end_counts[i] && k < rings->count; k++)
            rings->has_end_counts[i] = count_one(rings, &rings->at[k], &counters->at[i], i, pid);
    }
}

void rings_close(struct rings *rings)
{
    for (unsigned i = 0; i < rings->counted_count; i++)
        perf_close(rings->counted[i].fd);
    free(rings->counted);
    for (unsigned i = 0; i < rings->count; i++) {
        munmap(rings->at[i].head, (1 + rings->at[i].pages) * page_bytes());
        perf_close(rings->at[i].fd);
    }
    free(rings->at);
    free(rings->events);
    *rings = (struct rings){0};
}

/* ---- records --------------------------------------------------------------------------------- */

static struct life_event *event_add(struct rings *rings)
{
    if (rings->event_count == rings->event_room) {
        size_t room = rings->event_room ? 2 * rings->event_room : 64;
        struct life_event *more = reallocarray(rings->events, room, sizeof *more);
        if (!more)
            return NULL;
        rings->events = more;
        rings->event_room = room;
    }
    return &rings->events[rings->event_count++];
}

/* Body of PERF_RECORD_FORK and PERF_RECORD_EXIT. */
struct task_words {
    uint32_t pid, ppid, tid, ptid;
    uint64_t time;
};

/* Body of PERF_RECORD_READ, written when a thread ends: pid, tid, and the result of read(). */
struct read_words {
    uint32_t pid, tid;
    struct counts counts;
    uint64_t id;
};

static bool read_take(const struct rings *rings, const char *body, struct life_event *e)
{
    struct read_words words;
    memcpy(&words, body, sizeof words);
    for (unsigned i = 0; i < rings->counted_count; i++)
        if (rings->counted[i].id == words.id) {
            *e = (struct life_event){.what = LIFE_COUNTED,
                                     .pid = words.pid,
                                     .tid = words.tid,
                                     .counter = rings->counted[i].counter,
                                     .counts = words.counts};
            return true;
        }
    return false;
}

/* The last field of the sample_id that ends each record of another kind. */
static uint64_t time_of(const char *record, const struct perf_event_header *head)
{
    uint64_t time;
    memcpy(&time, record + head->size - sizeof time, sizeof time);
    return time;
}

static void record_take(struct rings *rings, const char *record,
                        const struct perf_event_header *head)
{
    struct life_event e = {0};
    const char *body = record + sizeof *head;
    struct task_words task;
    uint32_t ids[2];
    memcpy(&task, body, sizeof task);
    memcpy(ids, body, sizeof ids);
    if (head->type == PERF_RECORD_FORK || head->type == PERF_RECORD_EXIT) {
        e = (struct life_event){.what = head->type == PERF_RECORD_FORK ? LIFE_FORK : LIFE_EXIT,
                                .pid = task.pid,
                                .tid = task.tid,
                                .parent = task.ppid,
                                .time_ns = task.time};
    } else if (head->type == PERF_RECORD_COMM && head->misc & PERF_RECORD_MISC_COMM_EXEC) {
        e = (struct life_event){
            .what = LIFE_EXEC, .pid = ids[0], .tid = ids[1], .time_ns = time_of(record, head)};
    } else if (head->type == PERF_RECORD_LOST) {
        e = (struct life_event){.what = LIFE_LOST, .time_ns = time_of(record, head)};
        memcpy(&e.lost, body + sizeof(uint64_t), sizeof e.lost); /* follows an id */
    } else if (head->type == PERF_RECORD_READ && read_take(rings, body, &e)) {
        e.time_ns = time_of(record, head);
    } else {
        return;
    }
    struct life_event *room = event_add(rings);
    if (room)
        *room = e;
}

/* Copy out of the ring; the data may wrap around. */
static void copy_out(const struct ring *ring, uint64_t from, void *to, size_t bytes)
{
    size_t size = ring->pages * page_bytes(), at = from % size,
           first = bytes < size - at ? bytes : size - at;
    memcpy(to, ring->data + at, first);
    memcpy((char *)to + first, ring->data, bytes - first);
}

/*
 * Take the heads of all rings at one moment, in which none of them moved.  Otherwise a thread's
 * exec could be seen without the exits of the other threads, which precede it.
 */
static void heads_take(struct rings *rings)
{
    bool moved = true;
    for (unsigned looks = 0; moved && looks < LOOKS_MAX; looks++) {
        moved = false;
        for (unsigned i = 0; i < rings->count; i++) {
            struct ring *r = &rings->at[i];
            uint64_t head =
                atomic_load_explicit((_Atomic __u64 *)&r->head->data_head, memory_order_acquire);
            moved |= head != r->upto;
            r->upto = head;
        }
    }
}

static void ring_drain(struct rings *rings, struct ring *ring)
{
    uint64_t head = ring->upto, tail = ring->head->data_tail;
    while (tail < head) {
        struct perf_event_header h;
        char record[RECORD_MAX] = {0};
        copy_out(ring, tail, &h, sizeof h);
        if (h.size < sizeof h)
            break;
        if (h.size <= sizeof record) {
            copy_out(ring, tail, record, h.size);
            record_take(rings, record, &h);
        }
        tail += h.size;
    }
    atomic_store_explicit((_Atomic __u64 *)&ring->head->data_tail, head, memory_order_release);
}

/*
 * A LOST record is written with the next record that finds room, so losses at the very end have
 * none.  read() has the total.
 */
uint64_t rings_lost(const struct rings *rings)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < rings->count; i++) {
        struct {
            uint64_t value, lost;
        } words;
        const struct ring *r = &rings->at[i];
        if (r->reads_lost && read(r->fd, &words, sizeof words) == sizeof words)
            sum += words.lost;
    }
    return sum;
}

static int by_time(const void *a_, const void *b_)
{
    const struct life_event *a = a_, *b = b_;
    return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

void rings_drain(struct rings *rings)
{
    rings->event_count = 0;
    heads_take(rings);
    for (unsigned i = 0; i < rings->count; i++)
        ring_drain(rings, &rings->at[i]);
    if (rings->event_count > 0)
        qsort(rings->events, rings->event_count, sizeof *rings->events, by_time);
}

void rings_wait(const struct rings *rings, int fd, int ms)
{
    struct pollfd *all = calloc(rings->count + 1, sizeof *all);
    if (!all)
        return;
    for (unsigned i = 0; i < rings->count; i++)
        all[i] = (struct pollfd){.fd = rings->at[i].fd, .events = POLLIN};
    all[rings->count] = (struct pollfd){.fd = fd, .events = POLLIN};
    poll(all, rings->count + 1, ms);
    free(all);
}
