/*
 * ledger.c - keeps a ledger of its allocations, in a page that outlives it.
 *
 *     ledger PAGE-FILE THREADS SEED [fork]
 *
 * The driver kills it at any moment and compares the ledger with the run file.  Each thread has one
 * line.  Before an operation it writes the possible changes of the operation, after it the new
 * total in one store: so at every instant the truth is the total plus one of the entries in
 * flight.  A total is one word, blocks << 40 | bytes, and may wrap in a thread that frees other
 * threads' blocks: only the sum over all threads is meaningful.
 *
 * With `fork` a child continues from the parent's state.  It frees inherited blocks without an
 * entry in its ledger, as they are entries of the parent's.
 *
 * Every allocation in the ledger is made by book_ functions, by which the driver distinguishes them
 * from libc's.
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS_MAX 8
#define FLIGHTS 4
#define HELD 192
#define MAILBOXES 16
#define ONE_BLOCK (1ull << 40)

struct line {
    _Atomic uint64_t total;
    _Atomic uint64_t flight[FLIGHTS]; /* possible changes of the total; 0 = none */
    _Atomic uint64_t operations;
    uint64_t pad[2];
};

struct book {
    _Atomic uint32_t pid;
    _Atomic uint32_t ready;
    uint64_t pad[7];
    struct line line[THREADS_MAX];
};

static struct book *books; /* [0] the parent's, [1] the child's */
static struct book *book;
static int threads;

/* The contents of a block, with which another thread can check it. */
struct parcel {
    uint64_t bytes;
    uint8_t rest[];
};

struct place {
    struct parcel *_Atomic parcel; /* NULL from before a free to after an allocation */
    int inherited;
};

struct worker {
    struct line *line;
    uint64_t random;
    struct place held[HELD];
};

static struct worker workers[THREADS_MAX];
static struct parcel *_Atomic mailbox[MAILBOXES];
static uint8_t mail_is_inherited[MAILBOXES]; /* by the child only: all it finds at the start */

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "ledger: %s\n", what);
    _exit(99);
}

static uint64_t draw(struct worker *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

/* Usually small, sometimes several pages, rarely a block with separate pages. */
static size_t draw_size(struct worker *w)
{
    uint64_t r = draw(w);
    if (r % 64 == 0)
        return 17 + (r >> 8) % 400000;
    if (r % 8 == 0)
        return 17 + (r >> 8) % 20000;
    return 17 + (r >> 8) % 700;
}

static void put(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

static void close_entry(struct line *l, uint64_t change)
{
    put(&l->total, atomic_load_explicit(&l->total, memory_order_relaxed) + change);
    for (int i = 0; i < FLIGHTS; i++)
        put(&l->flight[i], 0);
    atomic_store_explicit(&l->operations, l->operations + 1, memory_order_relaxed);
}

static struct parcel *seal(struct parcel *p, size_t bytes)
{
    if (!p)
        fail("out of memory");
    p->bytes = bytes;
    ((uint8_t *)p)[bytes - 1] = (uint8_t)(bytes * 7);
    return p;
}

static void check(const struct parcel *p)
{
    if (p->bytes < 17 || p->bytes > 500000 ||
        ((const uint8_t *)p)[p->bytes - 1] != (uint8_t)(p->bytes * 7))
        fail("a block has changed");
}

/* The result goes through a volatile variable: no tail call, the return address is ours. */
__attribute__((noinline)) static struct parcel *book_allocate(struct worker *w, size_t bytes)
{
    struct line *l = w->line;
    void *volatile p = NULL;
    put(&l->flight[0], ONE_BLOCK + bytes);
    switch (draw(w) % 4) {
    case 0:
        p = calloc(1, bytes);
        break;
    case 1: {
        void *aligned = NULL;
        if (posix_memalign(&aligned, 64, bytes) == 0)
            p = aligned;
        break;
    }
    default:
        p = malloc(bytes);
    }
    close_entry(l, ONE_BLOCK + bytes);
    return seal(p, bytes);
}

__attribute__((noinline)) static struct parcel *book_resize(struct worker *w, struct parcel *old,
                                                            size_t bytes)
{
    struct line *l = w->line;
    uint64_t before = old->bytes;
    check(old);
    put(&l->flight[0], ONE_BLOCK + bytes);        /* the new one exists, the old one still does */
    put(&l->flight[1], (uint64_t)bytes - before); /* done */
    put(&l->flight[2],
        0 - ONE_BLOCK - before); /* resized in place: between the old and the new life */
    struct parcel *volatile p = realloc(old, bytes);
    close_entry(l, (uint64_t)bytes - before);
    return seal(p, bytes);
}

static void book_free(struct worker *w, struct parcel *p, int inherited)
{
    struct line *l = w->line;
    check(p);
    uint64_t change = inherited ? 0 : 0 - ONE_BLOCK - p->bytes;
    put(&l->flight[0], change);
    free(p);
    close_entry(l, change);
}

/* Put a block into a mailbox and free the block that another thread put there. */
static void exchange(struct worker *w, struct place *place)
{
    unsigned box = (unsigned)(draw(w) % MAILBOXES);
    if (place->inherited || mail_is_inherited[box])
        return;
    struct parcel *own = atomic_exchange(&place->parcel, NULL);
    struct parcel *other = atomic_exchange(&mailbox[box], own);
    if (other)
        book_free(w, other, 0);
}

static void step(struct worker *w)
{
    struct place *place = &w->held[draw(w) % HELD];
    struct parcel *p = atomic_load(&place->parcel);
    if (!p) {
        atomic_store(&place->parcel, book_allocate(w, draw_size(w)));
        place->inherited = 0;
        return;
    }
    uint64_t r = draw(w) % 8;
    if (r == 0) {
        exchange(w, place);
    } else if (r <= 2 && !place->inherited) {
        atomic_store(&place->parcel, NULL);
        atomic_store(&place->parcel, book_resize(w, p, draw_size(w)));
    } else {
        atomic_store(&place->parcel, NULL);
        book_free(w, p, place->inherited);
    }
}

static _Noreturn void work_for_ever(struct worker *w)
{
    for (;;)
        step(w);
}

static void *work(void *arg)
{
    work_for_ever(arg);
}

static void open_book(struct book *b, uint64_t seed)
{
    book = b;
    for (int i = 0; i < threads; i++) {
        workers[i].line = &b->line[i];
        workers[i].random = (seed + (uint64_t)i + 1) * 0x9e3779b97f4a7c15ull | 1;
    }
    atomic_store(&b->pid, (uint32_t)getpid());
}

/* All threads but the calling one, which is number 0. */
static void start_threads(void)
{
    pthread_t id;
    for (int i = 1; i < threads; i++)
        if (pthread_create(&id, NULL, work, &workers[i]) != 0)
            fail("cannot start a thread");
    atomic_store(&book->ready, 1);
}

static void inherit(void)
{
    for (int i = 0; i < threads; i++)
        for (int j = 0; j < HELD; j++)
            workers[i].held[j].inherited = workers[i].held[j].parcel != NULL;
    for (int i = 0; i < MAILBOXES; i++)
        mail_is_inherited[i] = 1;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        fail("usage: ledger PAGE-FILE THREADS SEED [fork]");
    int fd = open(argv[1], O_RDWR);
    books = mmap(NULL, 2 * sizeof *books, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || books == MAP_FAILED)
        fail("cannot map the page");
    close(fd);
    threads = atoi(argv[2]);
    uint64_t seed = strtoull(argv[3], NULL, 10);
    if (threads < 1 || threads > THREADS_MAX)
        fail("1 to 8 threads");
    open_book(&books[0], seed);
    start_threads();
    if (argc > 4) {
        for (int i = 0; i < 2000; i++)
            step(&workers[0]);
        if (fork() == 0) {
            inherit();
            open_book(&books[1], seed + 77);
            start_threads();
        }
    }
    work_for_ever(&workers[0]);
}
