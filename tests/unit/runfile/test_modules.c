/*
 * test_modules.c - numbers of objects: an object has one while it is loaded, and gets it back if it
 * is reloaded unchanged.  The records contain that, in forked children, too.
 *
 * The objects are ELF headers in memory of the test.  The records are read as a reader reads them:
 * in the order of the segments, the later of two with one number counts.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <elf.h>

#include "../run_here.h"
#include "heap_priv.h"

#include <cmocka.h>

#define BYTES 4096u
#define PLACES 64u

static struct made {
    _Alignas(8) char byte[BYTES];
} place[PLACES];

static int handles[PLACES]; /* only their addresses are used */

/* An object with a build-id of `id_bytes` bytes `id`; 0: without one. */
static struct object object_at(uint32_t i, uint8_t id, uint32_t id_bytes, const char *path)
{
    char *at = place[i].byte;
    Elf64_Ehdr e = {.e_phoff = sizeof e, .e_phnum = 1};
    Elf64_Phdr ph = {.p_type = PT_NOTE, .p_vaddr = 0x200, .p_memsz = 16 + 12 + 16 + id_bytes};
    Elf64_Nhdr other = {4, 5, 1}, note = {4, id_bytes, NT_GNU_BUILD_ID};
    memset(at, 0, BYTES);
    memcpy(e.e_ident, ELFMAG, SELFMAG);
    memcpy(at, &e, sizeof e);
    memcpy(at + sizeof e, &ph, sizeof ph);
    memcpy(at + 0x200, &other, sizeof other); /* with a name and five bytes, padded to eight */
    memcpy(at + 0x20c, "abc", 4);
    memcpy(at + 0x218, &note, sizeof note);
    memcpy(at + 0x224, "GNU", 4);
    memset(at + 0x228, id, id_bytes);
    if (!id_bytes)
        memset(at + 0x218, 0, sizeof note);
    return (struct object){.start = (uintptr_t)at,
                           .end = (uintptr_t)at + BYTES,
                           .bias = (uintptr_t)at,
                           .path = path,
                           .handle = &handles[i]};
}

/* ---- reading --------------------------------------------------------------------------------- */

static struct segment *all[64]; /* segments with records, oldest first */
static uint32_t segments;

/* The segments of our image in its first area. */
static void read_segments(void)
{
    char *base = (char *)image() - RTC_AREA_HEAD_BYTES;
    struct area_head *head = (struct area_head *)(void *)base;
    char *at = base + RTC_AREA_HEAD_BYTES + align_up(image()->header_bytes, RTC_SEGMENT_ALIGN);
    char *end = base + head->used_bytes;
    segments = 0;
    for (struct segment *s; at < end; at += s->bytes) {
        s = (struct segment *)(void *)at;
        MUST(s->magic == RTC_SEGMENT_MAGIC);
        if (s->kind == SEGMENT_MODULES && s->state == SEGMENT_CURRENT)
            all[segments++] = s;
    }
}

static uint32_t count_records(void)
{
    uint32_t n = 0;
    read_segments();
    for (uint32_t i = 0; i < segments; i++)
        n += all[i]->count;
    return n;
}

static const struct module_record *record_of(uint32_t number)
{
    const struct module_record *found = NULL;
    read_segments();
    for (uint32_t i = 0; i < segments; i++)
        for (uint32_t k = 0; k < all[i]->count; k++) {
            const struct module_record *m = (struct module_record *)segment_items(all[i]) + k;
            MUST(m->start < m->end); /* required by verify.c */
            MUST(memchr(m->path, 0, sizeof m->path) && m->build_id_bytes <= sizeof m->build_id);
            if (m->number == number)
                found = m;
        }
    return found;
}

static void is_recorded(uint32_t number, const struct object *o, uint8_t id, uint32_t id_bytes)
{
    const struct module_record *m = record_of(number);
    MUST(number && m);
    MUST(m->start == o->start && m->end == o->end && m->bias == o->bias);
    MUST(strcmp(m->path, o->path) == 0);
    MUST(m->build_id_bytes == id_bytes);
    for (uint32_t i = 0; i < id_bytes; i++)
        MUST(m->build_id[i] == id);
    MUST(m->loaded && !m->unloaded);
}

/* ---- loads ----------------------------------------------------------------------------------- */

static void numbers(void)
{
    run_here();
    struct object a = object_at(0, 0xaa, 20, "/lib/a"), b = object_at(1, 0xbb, 8, "/lib/b");
    MUST(modules_number(&a, false) == 0 && count_records() == 0);
    uint32_t x = modules_number(&a, true), y = modules_number(&b, true);
    MUST(x && y && x != y);
    is_recorded(x, &a, 0xaa, 20);
    is_recorded(y, &b, 0xbb, 8);
    MUST(modules_number(&a, false) == x && modules_number(&b, true) == y && count_records() == 2);
    MUST(record_of(x)->loaded < record_of(y)->loaded);
}

static void the_program(void)
{
    run_here();
    struct object o = object_at(0, 0xaa, 20, "");
    uint32_t n = modules_number(&o, true);
    MUST(strcmp(record_of(n)->path, image()->exe) == 0 && image()->exe[0] == '/');
}

static void build_ids(void)
{
    static char long_path[1000];
    run_here();
    memset(long_path, 'x', sizeof long_path - 1);
    struct object o = object_at(0, 0xaa, 20, "/with"), none = object_at(1, 0, 0, "/without");
    struct object long_one = object_at(2, 0xcc, 20, "/long"),
                  cut = object_at(3, 0xdd, 20, long_path);
    uint32_t wanted = 21;
    is_recorded(modules_number(&o, true), &o, 0xaa, 20);
    is_recorded(modules_number(&none, true), &none, 0, 0);
    memcpy(place[2].byte + 0x218 + 4, &wanted, 4); /* larger than any note */
    is_recorded(modules_number(&long_one, true), &long_one, 0, 0);
    MUST(strlen(record_of(modules_number(&cut, true))->path) ==
         sizeof((struct module_record *)0)->path - 1);
    for (uint32_t i = 4; i < 8; i++) { /* damaged: refused, without reading past the end */
        uint32_t huge = 0xfffffff0;
        struct object bad = object_at(i, 0xee, 20, "/bad");
        Elf64_Phdr *ph = (Elf64_Phdr *)(void *)(place[i].byte + sizeof(Elf64_Ehdr));
        Elf64_Ehdr *e = (Elf64_Ehdr *)(void *)place[i].byte;
        if (i == 4)
            ph->p_memsz = UINT64_MAX;
        else if (i == 5)
            e->e_phoff = UINT64_MAX - 8;
        else if (i == 6)
            memcpy(place[i].byte + 0x200, &huge, 4);
        else
            e->e_ident[0] = 0;
        is_recorded(modules_number(&bad, true), &bad, 0, 0);
    }
}

static void many(void)
{
    uint32_t number[PLACES];
    run_here();
    for (uint32_t i = 0; i < PLACES; i++) {
        struct object o = object_at(i, (uint8_t)i, 20, "/lib/many");
        number[i] = modules_number(&o, true);
        is_recorded(number[i], &o, (uint8_t)i, 20);
    }
    MUST(segments > 1 && count_records() == PLACES);
    for (uint32_t i = 0; i < PLACES; i++)
        for (uint32_t k = 0; k < i; k++)
            MUST(number[i] != number[k]);
}

/* ---- unloads --------------------------------------------------------------------------------- */

static void comes_back(void)
{
    run_here();
    struct object o = object_at(0, 0xaa, 20, "/lib/a");
    uint32_t n = modules_number(&o, true);
    MUST(modules_unloaded(&handles[1]) == 0);
    for (uint32_t i = 0; i < 10; i++) {
        MUST(modules_unloaded(o.handle) == n && modules_unloaded(o.handle) == 0);
        MUST(record_of(n)->unloaded > record_of(n)->loaded);
        MUST(modules_number(&o, false) == 0);
        o.handle = &handles[i + 2]; /* another handle: the object's identity counts */
        MUST(modules_number(&o, true) == n && count_records() == 1);
        is_recorded(n, &o, 0xaa, 20);
    }
}

/* Another path, build-id or address, or no build-id: another object. */
static void others(void)
{
    run_here();
    struct object o = object_at(0, 0xaa, 20, "/lib/a");
    uint32_t first = modules_number(&o, true), n;
    static const struct {
        uint32_t place;
        uint8_t id;
        uint32_t id_bytes;
        const char *path;
    } each[] = {{0, 0xaa, 20, "/lib/b"}, {0, 0xab, 20, "/lib/a"}, {0, 0xaa, 19, "/lib/a"},
                {0, 0, 0, "/lib/a"},     {1, 0xaa, 20, "/lib/a"}, {0, 0, 0, "/lib/a"}};
    MUST(modules_unloaded(o.handle) == first);
    for (uint32_t i = 0; i < 6; i++) {
        struct object p = object_at(each[i].place, each[i].id, each[i].id_bytes, each[i].path);
        n = modules_number(&p, true);
        MUST(n == first + 1 + i);
        is_recorded(n, &p, each[i].id, each[i].id_bytes);
        MUST(modules_unloaded(p.handle) == n);
    }
    o = object_at(0, 0xaa, 20, "/lib/a");
    MUST(modules_number(&o, true) == first);
}

/* ---- forks ----------------------------------------------------------------------------------- */

static struct object a, b;
static uint32_t number_of_a, number_of_b;

static void load_two(void)
{
    run_here();
    a = object_at(0, 0xaa, 20, "/lib/a");
    b = object_at(1, 0xbb, 20, "/lib/b");
    number_of_a = modules_number(&a, true);
    number_of_b = modules_number(&b, true);
}

/*
 * The child's numbers are its parent's; changes in the child are recorded in the child's records.
 */
static void after_fork(void)
{
    pid_t pid;
    load_two();
    if (fork_here(&pid)) {
        struct object c = object_at(2, 0xcc, 20, "/lib/c");
        MUST(modules_number(&a, false) == number_of_a && count_records() == 0);
        MUST(modules_unloaded(a.handle) == number_of_a && count_records() == 1);
        MUST(record_of(number_of_a)->unloaded && record_of(number_of_a)->start == a.start);
        uint32_t n = modules_number(&c, true);
        MUST(n != number_of_a && n != number_of_b);
        is_recorded(n, &c, 0xcc, 20);
        MUST(modules_number(&a, true) == number_of_a);
        is_recorded(number_of_a, &a, 0xaa, 20);
        MUST(count_records() == 2);
        return;
    }
    child_succeeds(pid);
    is_recorded(number_of_a, &a, 0xaa, 20); /* ours is unchanged */
    is_recorded(number_of_b, &b, 0xbb, 20);
    MUST(count_records() == 2 && modules_number(&a, false) == number_of_a);
}

/* A reader of that child has no way to its parent's records: the child has its own. */
static void after_unseen_fork(void)
{
    pid_t pid;
    load_two();
    if (fork_unseen(&pid)) {
        uint32_t n = modules_number(&a, true);
        MUST(n != number_of_a && n != number_of_b);
        is_recorded(n, &a, 0xaa, 20);
        MUST(modules_unloaded(b.handle) == 0); /* its rules were dropped already */
        MUST(modules_unloaded(a.handle) == n); /* its rules must be dropped now */
        MUST(record_of(n)->unloaded && modules_number(&a, false) == 0);
        MUST(modules_number(&a, true) == n && count_records() == 1);
        return;
    }
    child_succeeds(pid);
}

/* ---- threads --------------------------------------------------------------------------------- */

#define THREADS 4u

static struct object objects[PLACES];
static uint32_t seen[THREADS][PLACES];
static _Atomic uint32_t ready;

static void *number_all(void *thread)
{
    uint32_t t = (uint32_t)(uintptr_t)thread;
    for (ready++; ready < THREADS;)
        ;
    for (uint32_t i = 0; i < PLACES; i++)
        seen[t][i] = modules_number(&objects[i], true);
    return NULL;
}

static void threads_together(void)
{
    pthread_t thread[THREADS];
    run_here();
    for (uint32_t i = 0; i < PLACES; i++)
        objects[i] = object_at(i, (uint8_t)i, 20, "/lib/many");
    for (uintptr_t t = 0; t < THREADS; t++)
        MUST(pthread_create(&thread[t], NULL, number_all, (void *)t) == 0);
    for (uint32_t t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    MUST(count_records() == PLACES);
    for (uint32_t i = 0; i < PLACES; i++) {
        for (uint32_t t = 1; t < THREADS; t++)
            MUST(seen[t][i] == seen[0][i]);
        is_recorded(seen[0][i], &objects[i], (uint8_t)i, 20);
    }
}

IN_CHILD(numbers)
IN_CHILD(the_program)
IN_CHILD(build_ids)
IN_CHILD(many)
IN_CHILD(comes_back)
IN_CHILD(others)
IN_CHILD(after_fork)
IN_CHILD(after_unseen_fork)
IN_CHILD(threads_together)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),          cmocka_unit_test(test_the_program),
        cmocka_unit_test(test_build_ids),        cmocka_unit_test(test_many),
        cmocka_unit_test(test_comes_back),       cmocka_unit_test(test_others),
        cmocka_unit_test(test_after_fork),       cmocka_unit_test(test_after_unseen_fork),
        cmocka_unit_test(test_threads_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
