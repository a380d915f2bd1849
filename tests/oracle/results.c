/*
 * results.c - counters and stories in a file that every process of a run maps.
 *
 * A forked child has the mapping already, an exec'd image opens the file again, and a process that
 * is killed loses nothing.  Counters are kept for each program by the name of its executable.
 */
#include "oracle_priv.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u

/* A forked child starts counting again: the page is empty there. */
struct own {
    _Atomic uint64_t taken;
};

static struct oracle_results *results;
static struct own *own;
static unsigned program;
static uint64_t sample_first = 20000, sample_every = 100;

static uint64_t hash(const char *s)
{
    uint64_t h = 14695981039346656037u;
    while (*s)
        h = (h ^ (unsigned char)*s++) * 1099511628211u;
    return h | 1;
}

static void claim_program(struct oracle_results *r)
{
    char path[1024];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    uint64_t key = hash(name), free_slot = 0;
    while (!atomic_compare_exchange_strong(&r->program[program].claimed, &free_slot, key) &&
           free_slot != key && program + 1 < PROGRAMS) {
        free_slot = 0;
        program++;
    }
    char *to = r->program[program].name;
    memcpy(to, name, strnlen(name, sizeof r->program[program].name - 1));
}

static void read_sample(void)
{
    const char *text = getenv("RTC_ORACLE_SAMPLE"); /* FIRST,EVERY */
    char *comma;
    if (!text)
        return;
    sample_first = strtoull(text, &comma, 10);
    if (*comma == ',')
        sample_every = strtoull(comma + 1, NULL, 10);
}

static void *map(size_t bytes, int flags, int fd)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

bool results_open(void)
{
    static _Atomic bool tried;
    if (results)
        return true;
    const char *path = environ ? getenv("RTC_ORACLE_OUT") : NULL;
    if (!path || atomic_exchange(&tried, true))
        return false;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    struct oracle_results *r = map(sizeof *r, MAP_SHARED, fd);
    close(fd);
    own = map(PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (!r || !own || madvise(own, PAGE, MADV_WIPEONFORK))
        return false;
    read_sample();
    claim_program(r);
    results = r;
    return true;
}

void results_add(enum oracle_counter counter, uint64_t n)
{
    atomic_fetch_add(&results->program[program].counter[counter], n);
}

bool results_sample(void)
{
    uint64_t n = atomic_fetch_add(&own->taken, 1);
    if (n == 0) /* the first of this process: no other thread counts it */
        results_add(COUNT_IMAGES, 1);
    results_add(COUNT_TAKEN, 1);
    return n < sample_first || n % sample_every == 0;
}

char *results_note(void)
{
    uint64_t n = atomic_fetch_add(&results->notes, 1);
    return n < NOTES ? results->note[n] : NULL;
}
