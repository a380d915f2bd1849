/*
 * innocent.cc - all legal operations on the heap, at random and concurrently: every family, with and
 * without sizes, realloc, blocks freed by other threads, forks with children that continue, signal
 * handlers that allocate at any moment.  None of them is an error: INNOCENT STEPS SEED [APART], apart: it
 * forks before it has threads.
 *
 * rtc-build: -pthread -fno-builtin -fsized-deallocation
 */
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

enum { STATUS = 7, STATUS_DAMAGED = 99, THREADS = 4, SLOTS = 64, SHARED = 256 };

constexpr auto ALIGN = std::align_val_t{64};

struct block {
    unsigned char *p;
    std::size_t bytes;
    int maker;
};

enum {
    BY_MALLOC,
    BY_CALLOC,
    BY_MEMALIGN,
    BY_NEW,
    BY_ARRAY,
    BY_NEW_ALIGNED,
    BY_ARRAY_ALIGNED,
    MAKERS
};

std::atomic<block *> shared[SHARED];
unsigned long steps;

std::uint32_t next(std::uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(*state >> 33);
}

std::size_t random_bytes(std::uint64_t *r)
{
    std::uint32_t kind = next(r) % 100;
    return kind < 80 ? next(r) % 300 : kind < 97 ? next(r) % 6000 : next(r) % 300000;
}

void *get(int maker, std::size_t n)
{
    switch (maker) {
    case BY_MALLOC:
        return std::malloc(n);
    case BY_CALLOC:
        return std::calloc(n, 1);
    case BY_MEMALIGN:
        return memalign(256, n);
    case BY_NEW:
        return ::operator new(n);
    case BY_ARRAY:
        return ::operator new[](n);
    case BY_NEW_ALIGNED:
        return ::operator new(n, ALIGN);
    default:
        return ::operator new[](n, ALIGN);
    }
}

/* A separate function: of "sized ? delete(p, n) : delete(p)" clang 14 executes both calls. */
void put_sized(const block &b)
{
    switch (b.maker) {
    case BY_NEW:
        ::operator delete(b.p, b.bytes);
        break;
    case BY_ARRAY:
        ::operator delete[](b.p, b.bytes);
        break;
    case BY_NEW_ALIGNED:
        ::operator delete(b.p, b.bytes, ALIGN);
        break;
    case BY_ARRAY_ALIGNED:
        ::operator delete[](b.p, b.bytes, ALIGN);
        break;
    default:
        std::free(b.p);
    }
}

void put(const block &b)
{
    switch (b.maker) {
    case BY_NEW:
        ::operator delete(b.p);
        break;
    case BY_ARRAY:
        ::operator delete[](b.p);
        break;
    case BY_NEW_ALIGNED:
        ::operator delete(b.p, ALIGN);
        break;
    case BY_ARRAY_ALIGNED:
        ::operator delete[](b.p, ALIGN);
        break;
    default:
        std::free(b.p);
    }
}

unsigned char mark_of(const block &b)
{
    return static_cast<unsigned char>(b.bytes * 7 + static_cast<unsigned>(b.maker));
}

void fill(const block &b)
{
    std::memset(b.p, mark_of(b), b.bytes); /* up to the last byte that is its own */
}

void notify(const block &b)
{
    for (std::size_t i = 0; i < b.bytes; i += i + 100 < b.bytes && i > 100 ? 97 : 1)
        if (b.p[i] != mark_of(b))
            _exit(STATUS_DAMAGED);
}

block make(std::uint64_t *r)
{
    block b = {nullptr, random_bytes(r), static_cast<int>(next(r) % MAKERS)};
    b.p = static_cast<unsigned char *>(get(b.maker, b.bytes));
    fill(b);
    return b;
}

void unmake(block *b, std::uint64_t *r)
{
    notify(*b);
    if (next(r) % 2)
        put_sized(*b);
    else
        put(*b);
    *b = {};
}

void resize(block *b, std::uint64_t *r)
{
    if (b->maker > BY_MEMALIGN)
        return;
    notify(*b);
    std::size_t bytes = next(r) % 2 ? random_bytes(r) + 1 : b->bytes + next(r) % 20 + 1;
    b->p = static_cast<unsigned char *>(std::realloc(b->p, bytes));
    b->bytes = bytes;
    fill(*b);
}

/* Exchange a block with another thread, by a shared slot. */
void exchange(block *b, std::uint64_t *r)
{
    block *own = b->p ? new block(*b) : nullptr;
    block *taken = shared[next(r) % SHARED].exchange(own);
    *b = {};
    if (taken) {
        *b = *taken;
        delete taken;
    }
}

void step(block *b, std::uint64_t *r)
{
    std::uint32_t what = next(r) % 8;
    if (!b->p)
        *b = make(r);
    else if (what < 2)
        exchange(b, r);
    else if (what < 4)
        resize(b, r);
    else
        unmake(b, r);
}

void *work(void *seed)
{
    block own[SLOTS] = {};
    std::uint64_t r = reinterpret_cast<std::uintptr_t>(seed);
    for (unsigned long i = 0; i < steps; i++)
        step(&own[next(&r) % SLOTS], &r);
    for (block &b : own)
        if (b.p && next(&r) % 2)
            unmake(&b, &r);
    return nullptr;
}

/* A handler frees what it allocated, sometimes in the next call. */
void handler(int)
{
    static std::atomic<void *> kept;
    void *p = std::malloc(40);
    if (p)
        std::memset(p, 1, 40);
    std::free(kept.exchange(p));
}

void child(std::uint64_t seed)
{
    steps = steps / 20;
    work(reinterpret_cast<void *>(seed));
    std::exit(STATUS);
}

void forks(std::uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        pid_t pid = fork();
        int status;
        if (pid == 0)
            child(seed + static_cast<unsigned>(i));
        if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
            WEXITSTATUS(status) != STATUS)
            _exit(98);
    }
}

} // namespace

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    bool early_fork = argc > 3;
    if (argc < 3)
        return 97;
    steps = std::strtoul(argv[1], nullptr, 10);
    std::uint64_t seed = std::strtoul(argv[2], nullptr, 10);
    struct sigaction sa = {};
    sa.sa_handler = handler;
    sa.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &sa, nullptr);
    itimerval often = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &often, nullptr);
    if (early_fork)
        forks(seed * 1000);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], nullptr, work,
                       reinterpret_cast<void *>(seed * 100 + static_cast<unsigned>(i)));
    if (!early_fork)
        forks(seed * 1000);
    for (pthread_t &t : thread)
        pthread_join(t, nullptr);
    return STATUS;
}
