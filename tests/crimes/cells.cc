/* cells.cc - commits the cells of a table, each at its time; see cells.h. */
#include "cells.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

volatile bool guilty = true;
volatile char sink;

namespace
{

enum { STATUS = 7, STATUS_DAMAGED = 99, WITNESSES = 200 };

char **chosen;
int chosen_count;
struct {
    unsigned char *block;
    std::size_t bytes;
} witness[WITNESSES];

/* Takes all that there is, in pieces that become smaller, one of each size of slots. */
NOINLINE void fill_heap()
{
    void *exception = std::malloc(136); /* bad_alloc's: this allocation must succeed */
    struct link {
        link *next;
    } *taken = nullptr;
    for (std::size_t bytes = 1 << 20; bytes >= sizeof(link);
         bytes -= bytes > 65536 ? bytes / 2 : 15)
        while (link *l = static_cast<link *>(std::malloc(bytes))) {
            l->next = taken;
            taken = l;
        }
    std::free(exception);
}

/* Blocks of the program, of all sizes: the runtime must not change their contents. */
void witnesses_call()
{
    for (int i = 0; i < WITNESSES; i++) {
        witness[i].bytes = i < 100 ? static_cast<std::size_t>(i) : std::size_t{1} << (i % 17);
        witness[i].block = static_cast<unsigned char *>(std::malloc(witness[i].bytes));
        std::memset(witness[i].block, i, witness[i].bytes);
    }
}

void notify_witnesses()
{
    for (int i = 0; i < WITNESSES; i++)
        for (std::size_t k = 0; k < witness[i].bytes; k++)
            if (witness[i].block[k] != i)
                _exit(STATUS_DAMAGED);
}

bool is_chosen(unsigned n)
{
    for (int i = 0; i < chosen_count; i++)
        if (std::strtoul(chosen[i], nullptr, 10) == n)
            return true;
    return chosen_count == 0;
}

void commit_all(when at)
{
    table t = crimes();
    for (unsigned n = 0; n < t.count; n++)
        if (t.commit[n] && t.describe(n).at == at && is_chosen(n))
            t.commit[n](); /* @all.cell */
}

void *in_thread(void *)
{
    commit_all(IN_THREAD); /* @all.thread */
    return nullptr;
}

void in_handler(int)
{
    commit_all(IN_HANDLER); /* @all.handler */
    barrier();
}

void at_exit()
{
    commit_all(AT_EXIT); /* @all.atexit */
    notify_witnesses();
}

void in_destructor()
{
    commit_all(IN_DESTRUCTOR); /* @all.destructor */
    notify_witnesses();
}

void prepare_late(const char *library)
{
    void *late = dlopen(library, RTLD_NOW);
    void *call = late ? dlsym(late, "late_call") : nullptr;
    if (!call)
        std::exit(98);
    *static_cast<void (**)()>(call) = in_destructor;
    std::atexit(at_exit);
}

void commit_full()
{
    if (guilty)
        fill_heap();
    commit_all(FULL); /* @all.full */
    barrier();
}

void commit_others(const char *late)
{
    prepare_late(late);
    commit_all(AT_ONCE); /* @all.once */
    notify_witnesses();
    pthread_t thread;
    pthread_create(&thread, nullptr, in_thread, nullptr);
    pthread_join(thread, nullptr);
    notify_witnesses();
    std::signal(SIGUSR1, in_handler);
    std::raise(SIGUSR1); /* @all.raise */
    barrier();
}

void list()
{
    table all = crimes();
    for (unsigned n = 0; n < all.count; n++) {
        const cell c = all.describe(n);
        const expectation &t = c.expected;
        std::printf("%u\t%s\t%d\t", n, c.name, c.at == FULL);
        if (t.why_not)
            std::printf("-\t%s\n", t.why_not);
        else
            std::printf("%s\t%s\t%zu\t%ld\t%zu\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.kind, t.entry,
                        t.block_bytes, t.offset, t.bytes, t.damage, t.state, t.family, t.region,
                        t.found, t.call, t.alloc, t.free);
    }
}

} // namespace

int cells_main(int argc, char **argv)
{
    bool fill = false;
    for (argc--, argv++; argc && **argv == '-'; argc--, argv++) {
        if (std::strcmp(*argv, "--list") == 0) {
            list();
            return 0;
        }
        guilty = guilty && std::strcmp(*argv, "--innocent") != 0;
        fill = fill || std::strcmp(*argv, "--fill") == 0;
    }
    if (!argc)
        return 97;
    chosen = argv + 1;
    chosen_count = argc - 1;
    witnesses_call();
    if (fill)
        commit_full(); /* @main.full */
    else
        commit_others(argv[0]); /* @main.others */
    notify_witnesses();
    return STATUS;
}
