/*
 * contract.c - the contract of rtcheck/event.h, row by row (contract.def).
 *
 *     contract [ROW...]     without the runtime: "absent"
 *
 * rtc-build: +rows_*.c -pthread
 */
#include "contract.h"

#include <stdlib.h>
#include <sys/wait.h>

volatile struct logged logged[LOGGED_MAX];
_Atomic unsigned logged_count;

void record(unsigned type, union rtc_event *e, void *arg)
{
    unsigned n = atomic_fetch_add(&logged_count, 1);
    if (n >= LOGGED_MAX)
        return;
    logged[n].type = type;
    logged[n].arg = arg;
    logged[n].e = *e;
}

void handle(unsigned events, int priority, const char *arg)
{
    must(rtc_event_set_handler(events, priority, record, (void *)(uintptr_t)arg) == 0);
}

void forget(void)
{
    logged_count = 0;
}

static int find(unsigned type, unsigned n)
{
    for (unsigned i = 0; i < logged_count; i++)
        if (logged[i].type == type && n-- == 0)
            return (int)i;
    return -1;
}

union rtc_event nth(unsigned type, unsigned n)
{
    int i = find(type, n);
    must(i >= 0);
    return logged[i].e;
}

unsigned count_of(unsigned type)
{
    unsigned n = 0;
    while (find(type, n) >= 0)
        n++;
    return n;
}

size_t bytes_of(unsigned type)
{
    size_t sum = 0;
    for (unsigned i = 0; i < count_of(type); i++)
        sum += nth(type, i).vm_mapped.size;
    return sum;
}

bool is_range(unsigned type, unsigned n, const void *start, size_t bytes)
{
    int i = find(type, n);
    return i >= 0 && logged[i].e.vm_mapped.address == start && logged[i].e.vm_mapped.size == bytes;
}

/*
 * Far below the addresses that the kernel chooses by default: a hole that a row makes here stays one, even if
 * the runtime or libc map memory meanwhile.
 */
#define SEPARATE 0x100000000000ull /* 16 TiB */

void *own_place(size_t n)
{
    static uintptr_t next = SEPARATE;
    uintptr_t at = next;
    next += (n + 1) * PAGE;
    return (void *)at;
}

void *pages(size_t n)
{
    void *wanted = own_place(n), *at = rtc_orig_mmap(wanted, n * PAGE, READ_WRITE, PLAIN, -1, 0);
    must(at == wanted);
    return at;
}

bool is_mapped(const void *at, size_t bytes)
{
    unsigned char held;
    for (size_t i = 0; i < bytes; i += PAGE)
        if (mincore((char *)(uintptr_t)at + i, PAGE, &held) == 0)
            return true;
    return false;
}

/* ---- rows ------------------------------------------------------------------------------------- */

static const struct row row[] = {
#define ROW(name) {#name, row_##name},
#include "contract.def"
#undef ROW
};

int main(int argc, char **argv)
{
    const struct rows all = {row, sizeof row / sizeof row[0], 60, NULL};
    return rows_main(&all, rtc_event_set_handler, argc, argv);
}
