/*
 * test_absorb.c - whose areas are taken back while a run goes on, and whose must not be.
 *
 * Processes are real here: each is a child that waits until it is told to end.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "build_run.h"
#include "report_priv.h"

struct run {
    struct build b; /* b.file becomes the memfd's mapping in run_start */
    int fd;
    struct report *r;
};

static uint32_t process_start(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        for (;;)
            pause();
    return (uint32_t)pid;
}

static void process_end(uint32_t pid)
{
    assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
    assert_int_equal(waitpid((pid_t)pid, NULL, 0), (pid_t)pid);
}

static uint32_t process_gone(void)
{
    uint32_t pid = process_start();
    process_end(pid);
    return pid;
}

static void run_start(struct run *run)
{
    char err[REPORT_ERROR_BYTES];

    run->fd = build_fd(&run->b);
    munmap(run->b.file, run->b.bytes);
    run->b.file = mmap(NULL, run->b.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, run->fd, 0);
    assert_true(run->b.file != MAP_FAILED);
    assert_int_equal(report_open_fd(&run->r, run->fd, "test", err), 0);
}

static void run_end(struct run *run)
{
    report_close(run->r);
    close(run->fd);
    build_end(&run->b);
}

static int absorb(struct run *run)
{
    return report_absorb_ended(run->r, run->fd);
}

static bool is_claimed(const struct run *run, uint32_t area)
{
    return area_owner_state(build_entry(&run->b, area)->owner) == AREA_CLAIMED;
}

static bool is_empty(const struct run *run, uint32_t area)
{
    off_t at = (off_t)area * BUILD_AREA_BYTES, data = lseek(run->fd, at, SEEK_DATA);
    return data < 0 || data >= at + BUILD_AREA_BYTES;
}

/* Image `number` of process `pid`, with one block of `number` bytes in use. */
static uint32_t an_image(struct build *b, uint32_t number, uint32_t parent, uint32_t pid,
                         enum image_how how)
{
    uint32_t area = build_image(b, number, parent, pid, how);
    struct segment *t = build_segment(b, area, SEGMENT_THREADS, sizeof(struct thread_record), 4, 0);

    build_thread(t, 1, 10, 9);
    build_block(build_slab(b, area, number, 64, 4), 0, BLOCK_LIVE, number, 0);
    build_entry(b, area)->pid = pid;
    build_entry(b, area)->populated_bytes = 65536;
    for (uint32_t other = 1; other < area; other++) {
        struct image_header *h = build_image_header(b, other);
        if (h->image == parent)
            build_image_header(b, area)->ppid = how == IMAGE_EXEC ? h->ppid : h->pid;
    }
    return area;
}

static struct lease *a_lease(struct build *b, uint32_t index, uint32_t parent, uint32_t area,
                             enum lease_state state)
{
    struct lease *l = build_lease(b, index);
    l->parent = parent;
    if (area) {
        struct image_header *child = build_image_header(b, area);
        l->pid = child->pid;
        l->child = child->image;
        child->lease = index + 1;
    }
    l->state = state;
    return l;
}

/* ---- taken --------------------------------------------------------------------------------- */

static void test_the_living_keep_theirs(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), area = an_image(&run.b, 1, 0, pid, IMAGE_ROOT);

    (void)state;
    run_start(&run);
    assert_int_equal(absorb(&run), 0);
    assert_true(is_claimed(&run, area));
    process_end(pid);
    assert_int_equal(absorb(&run), 1);
    assert_int_equal(absorb(&run), 0);
    assert_int_equal(build_run(&run.b)->taken_back.images, 1);
    assert_int_equal(build_run(&run.b)->taken_back.live_bytes, 1);
    run_end(&run);
}

static void test_what_is_taken(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t area = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    uint32_t more = build_more(&run.b, area);
    uint32_t living = process_start(), other = an_image(&run.b, 2, 0, living, IMAGE_ROOT);
    char err[REPORT_ERROR_BYTES];

    (void)state;
    build_block(build_slab(&run.b, more, 7, 64, 4), 0, BLOCK_LIVE, 30, 0);
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    assert_int_equal(build_entry(&run.b, area)->owner, 0);
    assert_int_equal(build_entry(&run.b, more)->owner, 0);
    assert_int_equal(build_entry(&run.b, area)->populated_bytes, 0);
    assert_int_equal(build_entry(&run.b, area)->pid, 0);
    assert_true(is_empty(&run, area));
    assert_true(is_empty(&run, more));
    assert_true(is_claimed(&run, other));
    assert_false(is_empty(&run, other));
    assert_int_equal(build_run(&run.b)->taken_back.images, 1);
    assert_int_equal(build_run(&run.b)->taken_back.allocs, 10);
    assert_int_equal(build_run(&run.b)->taken_back.frees, 9);
    assert_int_equal(build_run(&run.b)->taken_back.live_blocks, 2);
    assert_int_equal(build_run(&run.b)->taken_back.live_bytes, 31);
    /* and all of it is in the report, once */
    assert_int_equal(report_collect(run.r, err), 0);
    assert_int_equal(totals_of(run.r).bytes, 33);
    assert_int_equal(totals_of(run.r).allocs, 20);
    assert_int_equal(totals_elsewhere(run.r).processes, 0);
    process_end(living);
    run_end(&run);
}

/* What has errors to be shown stays in the file, told once; but not without end. */
static void test_errors_stay(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t area[2];

    (void)state;
    an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    for (uint32_t i = 0; i < 2; i++) {
        struct segment *s;
        area[i] = an_image(&run.b, 2 + i, 0, process_gone(), IMAGE_ROOT);
        s = build_segment(&run.b, area[i], SEGMENT_ERRORS, sizeof(struct error_record), 4, 0);
        build_error(s, i == 0 ? ERROR_DUF : ERROR_NONE, ENTRY_FREE, 0);
    }
    run_start(&run);
    absorb(&run);
    absorb(&run);
    assert_true(is_claimed(&run, area[0]) && !is_empty(&run, area[0]));
    assert_false(is_claimed(&run, area[1]));
    assert_int_equal(build_run(&run.b)->taken_back.images, 2);
    assert_int_equal(report_collect(run.r, (char[REPORT_ERROR_BYTES]){0}), 0);
    assert_int_equal(run.r->error_count, 1);
    assert_int_equal(run.r->errors[0].count, 1);
    run_end(&run);
}

/* The same of leaks; what was in use is none, and who was taken back has told what it had. */
static void test_leaks_stay(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t area[2];

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct segment *s;
        area[i] = an_image(&run.b, 1 + i, 0, process_gone(), IMAGE_ROOT);
        s = build_segment(&run.b, area[i], SEGMENT_LEAKS, sizeof(struct leak_group), 4, 0);
        build_leak(s, i == 0 ? REACH_LOST : REACH_HELD, 0, 2, 10);
        build_image_header(&run.b, area[i])->leak_check = LEAKS_FOUND;
    }
    run_start(&run);
    report_want_reachable(run.r);
    absorb(&run);
    absorb(&run);
    assert_true(is_claimed(&run, area[0]) && !is_empty(&run, area[0]));
    assert_false(is_claimed(&run, area[1]));
    assert_int_equal(report_collect(run.r, (char[REPORT_ERROR_BYTES]){0}), 0);
    assert_int_equal(run.r->leak_count, 2);
    assert_int_equal(run.r->leaks[0].class, CLASS_LOST);
    assert_int_equal(run.r->leaks[0].blocks, 2);
    assert_int_equal(run.r->leaks[1].class, CLASS_HELD);
    assert_int_equal(image_of(run.r, 2)->leak_check, LEAKS_FOUND);
    run_end(&run);
}

/* The area's next owner is a new image; the old one's number still stands for what it was. */
static void test_area_used_again(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t area = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    char err[REPORT_ERROR_BYTES];

    (void)state;
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    run.b.next_area = area;
    an_image(&run.b, 2, 0, process_gone(), IMAGE_ROOT);
    assert_int_equal(absorb(&run), 1);
    assert_true(is_empty(&run, area));
    assert_int_equal(report_collect(run.r, err), 0);
    assert_int_equal(image_of(run.r, 1)->live_bytes, 1);
    assert_int_equal(image_of(run.r, 2)->live_bytes, 2);
    run_end(&run);
}

static void test_exec_leaves_the_old_image(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start();
    uint32_t old = an_image(&run.b, 1, 0, pid, IMAGE_ROOT), new;

    (void)state;
    build_image_header(&run.b, old)->end_how = END_EXEC;
    run_start(&run);
    assert_int_equal(absorb(&run), 0); /* exec may still fail */
    new = an_image(&run.b, 2, 1, pid, IMAGE_EXEC);
    build_image_header(&run.b, new)->state = IMAGE_OPEN;
    assert_int_equal(absorb(&run), 1);
    assert_false(is_claimed(&run, old));
    assert_true(is_claimed(&run, new));
    process_end(pid);
    run_end(&run);
}

/* A fork that exec'd in between (posix_spawn) was never an image: its parent is found by pid. */
static void test_spawned(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), gone = process_gone();
    uint32_t area;

    (void)state;
    an_image(&run.b, 1, 0, pid, IMAGE_ROOT);
    area = an_image(&run.b, 2, 0, gone, IMAGE_EXEC);
    build_image_header(&run.b, area)->ppid = pid;
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    assert_false(is_claimed(&run, area));
    process_end(pid);
    run_end(&run);
}

/* ---- kept ---------------------------------------------------------------------------------- */

static void test_a_lease_keeps_the_parent(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start();
    uint32_t parent = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    uint32_t child = an_image(&run.b, 2, 1, pid, IMAGE_FORK);
    struct lease *l;

    (void)state;
    a_lease(&run.b, 9, 1, child, LEASE_HELD);
    run_start(&run);
    assert_int_equal(absorb(&run), 0);
    assert_true(is_claimed(&run, parent));
    process_end(pid);
    assert_int_equal(absorb(&run), 2);
    assert_false(is_claimed(&run, parent));
    l = build_lease(&run.b, 9);
    assert_int_equal(l->state, LEASE_FREE);
    run_end(&run);
}

/* The child has done nothing yet: no image, only its pid in the lease. */
static void test_a_lease_without_an_image(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start();
    uint32_t parent = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);

    (void)state;
    a_lease(&run.b, 3, 1, 0, LEASE_HELD)->pid = pid;
    run_start(&run);
    assert_int_equal(absorb(&run), 0);
    assert_true(is_claimed(&run, parent));
    process_end(pid);
    assert_int_equal(absorb(&run), 1);
    run_end(&run);
}

/* Killed between fork and the note of the child's pid: there may be a child. */
static void test_a_fork_under_way(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t parent = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);

    (void)state;
    a_lease(&run.b, 2, 1, 0, LEASE_FORKING);
    run_start(&run);
    assert_int_equal(absorb(&run), 0);
    assert_true(is_claimed(&run, parent));
    run_end(&run);
}

static void test_a_lease_that_was_left(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start();

    (void)state;
    an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    a_lease(&run.b, 0, 1, 0, LEASE_LEFT)->pid = pid; /* by exec, into something else */
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    assert_int_equal(build_lease(&run.b, 0)->state, LEASE_FREE);
    process_end(pid);
    run_end(&run);
}

/* The child lives on, but as something else: what it read as a fork it reads no more. */
static void test_a_reader_that_went_on_by_exec(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start();
    uint32_t parent = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    uint32_t child = an_image(&run.b, 2, 1, pid, IMAGE_FORK), new;

    (void)state;
    a_lease(&run.b, 9, 1, child, LEASE_HELD);
    a_lease(&run.b, 11, 999, child, LEASE_HELD); /* and one of an image that nobody has seen */
    build_lease(&run.b, 11)->child = 0;
    build_image_header(&run.b, child)->lease = 10;
    build_image_header(&run.b, child)->end_how = END_EXEC;
    new = an_image(&run.b, 3, 2, pid, IMAGE_EXEC);
    run_start(&run);
    assert_int_equal(absorb(&run), 2);
    assert_false(is_claimed(&run, parent));
    assert_false(is_claimed(&run, child));
    assert_true(is_claimed(&run, new));
    assert_int_equal(build_lease(&run.b, 9)->state, LEASE_FREE);
    assert_int_equal(build_lease(&run.b, 11)->state, LEASE_HELD);
    process_end(pid);
    run_end(&run);
}

/* Grandparent and parent are gone, the youngest reads the one by way of the other. */
static void test_readers_of_readers(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), unrelated;
    uint32_t old = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    uint32_t mid = an_image(&run.b, 2, 1, process_gone(), IMAGE_FORK);
    uint32_t young = an_image(&run.b, 3, 2, pid, IMAGE_FORK);

    (void)state;
    unrelated = an_image(&run.b, 4, 1, process_gone(), IMAGE_FORK);
    a_lease(&run.b, 5, 1, mid, LEASE_HELD);
    a_lease(&run.b, 6, 2, young, LEASE_HELD);
    a_lease(&run.b, 7, 1, unrelated, LEASE_HELD);
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    assert_false(is_claimed(&run, unrelated));
    assert_true(is_claimed(&run, old));
    assert_true(is_claimed(&run, mid));
    assert_int_equal(build_lease(&run.b, 5)->state, LEASE_HELD);
    assert_int_equal(build_lease(&run.b, 6)->state, LEASE_HELD);
    assert_int_equal(build_lease(&run.b, 7)->state, LEASE_FREE);
    process_end(pid);
    assert_int_equal(absorb(&run), 3);
    assert_int_equal(build_lease(&run.b, 5)->state, LEASE_FREE);
    assert_int_equal(build_lease(&run.b, 6)->state, LEASE_FREE);
    run_end(&run);
}

/* In a namespace of its own a process knows itself by another number. */
static void test_strangers_pids(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), gone = process_gone();
    uint32_t child, grandchild, orphan;

    (void)state;
    an_image(&run.b, 1, 0, pid, IMAGE_ROOT);
    child = an_image(&run.b, 2, 1, gone, IMAGE_FORK);
    build_image_header(&run.b, child)->ppid = 0;
    grandchild = an_image(&run.b, 3, 2, gone, IMAGE_FORK);
    orphan = an_image(&run.b, 4, 0, gone, IMAGE_EXEC);
    build_image_header(&run.b, orphan)->ppid = 1;
    run_start(&run);
    assert_int_equal(absorb(&run), 0);
    assert_true(is_claimed(&run, child));
    assert_true(is_claimed(&run, grandchild));
    assert_true(is_claimed(&run, orphan));
    process_end(pid);
    run_end(&run);
}

/* ---- stacks ------------------------------------------------------------------------------- */

#define LIB 0x7f0000000000ull

static uint32_t add_map(struct build *b, uint32_t area, uint64_t pc)
{
    struct segment *m = build_segment(b, area, SEGMENT_MODULES, sizeof(struct module_record), 4, 0);
    build_module(m, "/bin/p", LIB, 0x1000);
    return build_node(build_depot(b, area, 0), pc, 0);
}

static const struct frame *only_frame(const struct report *r, uint32_t number)
{
    const struct image *image = image_of(r, number);
    assert_non_null(image);
    assert_int_equal(image->use_count, 1);
    assert_int_equal(r->sites[image->uses[0].site].count, 1);
    return &r->frames[r->sites[image->uses[0].site].frames[0]];
}

static void use_stack(struct build *b, uint32_t area, uint32_t stack)
{
    build_image_header(b, area)->first_depot_chunk = 1;
    build_block(build_slab(b, area, 50, 64, 4), 0, BLOCK_LIVE, 1, stack);
}

/* A shell's children: their stacks are in the shell's depot, which goes on growing. */
static void test_stacks_of_a_living_parent(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), stack;
    uint32_t parent = build_image(&run.b, 1, 0, pid, IMAGE_ROOT), child;
    struct segment *depot;

    (void)state;
    stack = add_map(&run.b, parent, LIB + 0x10);
    run_start(&run);
    depot = (struct segment *)(void *)(build_area_at(&run.b, parent) +
                                       build_head(&run.b, parent)->used_bytes -
                                       segment_bytes(16, sizeof(struct depot_node)));
    for (uint32_t i = 0; i < 3; i++) {
        child = build_image(&run.b, 2 + i, 1, process_gone(), IMAGE_FORK);
        build_image_header(&run.b, child)->ppid = pid;
        use_stack(&run.b, child, stack);
        assert_int_equal(absorb(&run), 1);
        assert_int_equal(only_frame(run.r, 2 + i)->offset, 0x10 + i);
        stack = build_node(depot, LIB + 0x11 + i, 0);
    }
    assert_int_equal(HASH_COUNT(run.r->done), 3);
    process_end(pid);
    run_end(&run);
}

/* The parent has been taken back before its last child: what the child needs was kept. */
static void test_stacks_of_an_absorbed_parent(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), stack;
    uint32_t parent = build_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);
    uint32_t child = build_image(&run.b, 2, 1, pid, IMAGE_FORK);

    (void)state;
    build_image_header(&run.b, child)->ppid = build_image_header(&run.b, parent)->pid;
    stack = add_map(&run.b, parent, LIB + 0x10);
    use_stack(&run.b, child, stack);
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    assert_false(is_claimed(&run, parent));
    process_end(pid);
    assert_int_equal(absorb(&run), 1);
    assert_int_equal(only_frame(run.r, 2)->offset, 0x10);
    assert_string_equal(run.r->modules[only_frame(run.r, 2)->module].path, "/bin/p");
    assert_int_equal(HASH_COUNT(run.r->done), 2); /* and nobody needs it any more */
    run_end(&run);
}

/* A stack of its own, in a module that only the parent has noted. */
static void test_modules_of_a_living_parent(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start();
    uint32_t parent = build_image(&run.b, 1, 0, pid, IMAGE_ROOT);
    uint32_t child = build_image(&run.b, 2, 1, process_gone(), IMAGE_FORK);

    (void)state;
    add_map(&run.b, parent, 0x1234);
    build_image_header(&run.b, child)->ppid = pid;
    use_stack(&run.b, child, build_node(build_depot(&run.b, child, 1), LIB + 0x50, 0));
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    assert_int_equal(only_frame(run.r, 2)->offset, 0x50);
    assert_string_equal(run.r->modules[only_frame(run.r, 2)->module].path, "/bin/p");
    process_end(pid);
    run_end(&run);
}

/* What a header said when it was first seen is not what it says at the end. */
static void test_headers_are_looked_at_again(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), area = an_image(&run.b, 1, 0, pid, IMAGE_ROOT);
    struct image_header *h;

    (void)state;
    build_image_header(&run.b, area)->state = IMAGE_OPEN;
    run_start(&run);
    assert_int_equal(absorb(&run), 0);
    h = build_image_header(&run.b, area);
    h->state = IMAGE_ENDING;
    h->end_status = 5;
    h->bad_frees[LOST_BAD] = 6;
    process_end(pid);
    assert_int_equal(absorb(&run), 1);
    assert_int_equal(image_of(run.r, 1)->state, IMAGE_ENDING);
    assert_int_equal(image_of(run.r, 1)->end_status, 5);
    assert_int_equal(image_of(run.r, 1)->bad_frees[LOST_BAD], 6);
    run_end(&run);
}

/* ---- odd files ----------------------------------------------------------------------------- */

static void test_bad_area_is_taken_too(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t area = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);

    (void)state;
    build_head(&run.b, area)->used_bytes -= 8;
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    assert_false(is_claimed(&run, area));
    assert_int_equal(run.r->bad_count, 1);
    run_end(&run);
}

/* A living parent's bad areas are looked into for every child's sake, and told of once. */
static void test_bad_areas_are_told_once(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), more[2];
    uint32_t parent = build_image(&run.b, 1, 0, pid, IMAGE_ROOT);

    (void)state;
    for (int i = 0; i < 2; i++) {
        more[i] = build_more(&run.b, parent);
        build_head(&run.b, more[i])->used_bytes += 8;
    }
    run_start(&run);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t child = build_image(&run.b, 2 + i, 1, process_gone(), IMAGE_FORK);
        build_image_header(&run.b, child)->ppid = pid;
        use_stack(&run.b, child, 5);
        assert_int_equal(absorb(&run), 1);
    }
    assert_int_equal(run.r->bad_count, 2);
    assert_int_equal(run.r->bad[0].area, more[0]);
    assert_int_equal(run.r->bad[1].area, more[1]);
    process_end(pid);
    run_end(&run);
}

static void test_mad_tables_take_nothing(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t area = an_image(&run.b, 1, 0, process_gone(), IMAGE_ROOT);

    (void)state;
    run_start(&run);
    build_run(&run.b)->area_bytes /= 2;
    assert_int_equal(absorb(&run), -EBADMSG);
    build_run(&run.b)->area_bytes *= 2;
    build_lease(&run.b, 3)->state = 77;
    assert_int_equal(absorb(&run), -EBADMSG);
    build_lease(&run.b, 3)->state = LEASE_FREE;
    /* good by themselves, but not what was mapped and promised before */
    build_run(&run.b)->area_count--;
    assert_int_equal(absorb(&run), -EBADMSG);
    build_run(&run.b)->area_count++;
    build_run(&run.b)->lease_count--;
    assert_int_equal(absorb(&run), -EBADMSG);
    build_run(&run.b)->lease_count++;
    build_run(&run.b)->lease_table_offset += 8;
    assert_int_equal(absorb(&run), -EBADMSG);
    assert_true(is_claimed(&run, area));
    build_run(&run.b)->lease_table_offset -= 8;
    assert_int_equal(absorb(&run), 1);
    run_end(&run);
}

static void test_the_newest_image_of_a_process(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t gone = process_gone(), area;
    struct report_image_fact fact;

    (void)state;
    an_image(&run.b, 1, 0, gone, IMAGE_ROOT);
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    fact = report_image_of_pid(run.r, gone);
    assert_true(fact.found);
    assert_int_equal(fact.image, 1);
    assert_int_equal(fact.pid, gone);
    assert_string_equal(fact.exe, "/usr/bin/prog1");
    area = an_image(&run.b, 3, 0, gone, IMAGE_ROOT);
    assert_int_equal(report_image_of_pid(run.r, gone).image, 3);
    build_image_header(&run.b, area)->flags = IMAGE_OWN_MALLOC;
    build_image_header(&run.b, area)->unchecked_children = 4;
    fact = report_image_of_pid(run.r, gone);
    assert_int_equal(fact.flags, IMAGE_OWN_MALLOC);
    assert_int_equal(fact.unchecked_children, 4);
    run_end(&run);
}

static void test_running(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start();
    uint32_t area = an_image(&run.b, 1, 0, pid, IMAGE_ROOT);

    (void)state;
    an_image(&run.b, 2, 1, process_gone(), IMAGE_FORK);
    run_start(&run);
    assert_int_equal(report_running(run.r), 0); /* it has said goodbye */
    build_image_header(&run.b, area)->state = IMAGE_OPEN;
    assert_int_equal(report_running(run.r), 1);
    assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(report_running(run.r), 0); /* a zombie has no memory */
    process_end(pid);
    assert_int_equal(report_running(run.r), 0);
    run_end(&run);
}

static void *stay(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

/* Its main thread ends, another goes on: it looks like a zombie, and is none. */
static uint32_t process_without_main_thread(void)
{
    char path[64], line[512] = "";
    pid_t pid = fork();

    if (pid == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, stay, NULL);
        pthread_exit(NULL);
    }
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    while (!strstr(line, ") Z ")) {
        FILE *f = fopen(path, "re");
        assert_non_null(f);
        assert_non_null(fgets(line, sizeof line, f));
        fclose(f);
    }
    return (uint32_t)pid;
}

static void test_running_without_its_main_thread(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_without_main_thread();
    uint32_t area = an_image(&run.b, 1, 0, pid, IMAGE_ROOT);

    (void)state;
    build_image_header(&run.b, area)->state = IMAGE_OPEN;
    run_start(&run);
    assert_int_equal(report_running(run.r), 1);
    assert_int_equal(absorb(&run), 0);
    process_end(pid);
    run_end(&run);
}

/* A later image may lie in an earlier area: who is whose child is asked in the order of numbers. */
static void test_areas_in_another_order(void **state)
{
    struct run run = {.b = build_begin()};
    uint32_t pid = process_start(), gone = process_gone(), child, parent;

    (void)state;
    child = build_image(&run.b, 2, 1, gone, IMAGE_FORK);
    build_image_header(&run.b, child)->ppid = pid;
    parent = build_image(&run.b, 1, 0, pid, IMAGE_ROOT);
    run_start(&run);
    assert_int_equal(absorb(&run), 1);
    assert_false(is_claimed(&run, child));
    assert_true(is_claimed(&run, parent));
    process_end(pid);
    run_end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_living_keep_theirs),
        cmocka_unit_test(test_what_is_taken),
        cmocka_unit_test(test_errors_stay),
        cmocka_unit_test(test_leaks_stay),
        cmocka_unit_test(test_area_used_again),
        cmocka_unit_test(test_exec_leaves_the_old_image),
        cmocka_unit_test(test_spawned),
        cmocka_unit_test(test_a_lease_keeps_the_parent),
        cmocka_unit_test(test_a_lease_without_an_image),
        cmocka_unit_test(test_a_fork_under_way),
        cmocka_unit_test(test_a_lease_that_was_left),
        cmocka_unit_test(test_a_reader_that_went_on_by_exec),
        cmocka_unit_test(test_readers_of_readers),
        cmocka_unit_test(test_strangers_pids),
        cmocka_unit_test(test_stacks_of_a_living_parent),
        cmocka_unit_test(test_stacks_of_an_absorbed_parent),
        cmocka_unit_test(test_modules_of_a_living_parent),
        cmocka_unit_test(test_headers_are_looked_at_again),
        cmocka_unit_test(test_bad_area_is_taken_too),
        cmocka_unit_test(test_bad_areas_are_told_once),
        cmocka_unit_test(test_mad_tables_take_nothing),
        cmocka_unit_test(test_the_newest_image_of_a_process),
        cmocka_unit_test(test_running),
        cmocka_unit_test(test_running_without_its_main_thread),
        cmocka_unit_test(test_areas_in_another_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
