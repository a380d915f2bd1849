/*
 * test_copy.c - a child's own records of a slab that it inherited, even if its parent, which does
 * not see the child, has reused the old ones for another slab by then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "../run_here.h"

#include <cmocka.h>

#define CLASS 4u
#define OTHER_CLASS (CLASS + 1) /* with the same number of units */

static void *take(uint32_t class)
{
    void *p = slab_take_hot(self, class);
    MUST(p);
    struct found f = pool_find(p);
    block_publish(pool_record(&f, epoch_page->epoch),
                  &(struct block_birth){.mark = MARK_FIRST, .size = 5});
    return p;
}

static void give(uint32_t class, void *p)
{
    struct found f = pool_find(p);
    struct block_record *b = pool_record(&f, epoch_page->epoch);
    uint64_t was;
    MUST(block_retire(b, 1, 2, &was));
    block_forget(b);
    slab_give(self, class, p);
}

static struct segment *segment_of(const void *p)
{
    return owner_pointer(atomic_load(&pool_find(p).head->owner));
}

static uint64_t place_of(const void *p)
{
    return (uint64_t)(pool_find(p).head - heap.unit);
}

/* Free the slab of `first`; another slab takes its units, and a slab elsewhere its records. */
static void use_again(void **first, void *second)
{
    const struct segment *records = segment_of(first[0]);
    uint64_t place = place_of(first[0]);
    give(CLASS, second);
    for (uint32_t i = 0; i < size_class[CLASS].slots; i++)
        give(CLASS, first[i]);
    slab_drain(self);
    while (place_of(take(OTHER_CLASS)) != place)
        continue;
    while (segment_of(take(CLASS)) != records)
        continue;
    MUST(records->index != place);
}

static void look(void *p)
{
    struct found f = pool_find(p);
    pool_record(&f, epoch_page->epoch);
    const struct segment *s = segment_of(p);
    MUST(s->image == image()->image && s->index == place_of(p));
    MUST(s->slot_bytes == size_class[CLASS].slot_bytes && s->units == size_class[CLASS].units);
    MUST(s->capacity == size_class[CLASS].slots && atomic_load(&s->count) == s->capacity);
}

static void of_an_unknown_child(void)
{
    static void *p[SLOTS_MAX + 1];
    int ready[2];
    char byte = 0;
    pid_t pid;
    run_here();
    for (uint32_t i = 0; i <= size_class[CLASS].slots; i++)
        p[i] = take(CLASS);
    MUST(segment_of(p[0]) != segment_of(p[size_class[CLASS].slots]));
    MUST(pipe(ready) == 0);
    if (fork_unseen(&pid)) {
        MUST(read(ready[0], &byte, 1) == 1);
        look(p[0]);
        _exit(0);
    }
    use_again(p, p[size_class[CLASS].slots]);
    MUST(write(ready[1], &byte, 1) == 1);
    child_succeeds(pid);
}

static void test_of_an_unknown_child(void **state)
{
    (void)state;
    assert_int_equal(in_child(of_an_unknown_child), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_of_an_unknown_child)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
