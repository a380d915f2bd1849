/*
 * running.h - for tests: a run in progress, built by the test.
 *
 * Its processes are real: each is a child that waits to be killed.
 */
#ifndef RUNNING_H
#define RUNNING_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "build_run.h"
#include "read_priv.h"

struct run {
    struct build b; /* b.file becomes the memfd's mapping in run_start */
    int fd;
    struct report *r;
};

static inline uint32_t process_start(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it must not outlive the test, if an assertion fails */
    while (pid == 0)
        pause();
    return (uint32_t)pid;
}

static inline void process_end(uint32_t pid)
{
    assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
    assert_int_equal(waitpid((pid_t)pid, NULL, 0), (pid_t)pid);
}

static inline uint32_t process_gone(void)
{
    uint32_t pid = process_start();
    process_end(pid);
    return pid;
}

static inline void run_start(struct run *run)
{
    char err[REPORT_ERROR_BYTES];

    run->fd = build_fd(&run->b);
    munmap(run->b.file, run->b.bytes);
    run->b.file = mmap(NULL, run->b.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, run->fd, 0);
    assert_true(run->b.file != MAP_FAILED);
    assert_int_equal(report_open_fd(&run->r, run->fd, "test", err), 0);
}

static inline void run_end(struct run *run)
{
    report_close(run->r);
    close(run->fd);
    build_end(&run->b);
}

static inline int absorb(struct run *run)
{
    return report_absorb_ended(run->r, run->fd);
}

static inline bool is_claimed(const struct run *run, uint32_t area)
{
    return area_owner_state(build_entry(&run->b, area)->owner) == AREA_CLAIMED;
}

static inline bool is_empty(const struct run *run, uint32_t area)
{
    off_t at = (off_t)area * BUILD_AREA_BYTES, data = lseek(run->fd, at, SEEK_DATA);
    return data < 0 || data >= at + BUILD_AREA_BYTES;
}

/* Image `number` of process `pid`, with one block of `number` bytes in use. */
static inline uint32_t an_image(struct build *b, uint32_t number, uint32_t parent, uint32_t pid,
                                enum image_how how)
{
    uint32_t area = build_image(b, number, parent, pid, how);
    struct segment *t = build_records(b, area, SEGMENT_THREADS, 4);

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

static inline struct lease *a_lease(struct build *b, uint32_t index, uint32_t parent, uint32_t area,
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

static inline void use_stack(struct build *b, uint32_t area, uint32_t stack)
{
    build_image_header(b, area)->first_depot_chunk = 1;
    build_block(build_slab(b, area, 50, 64, 4), 0, BLOCK_LIVE, 1, stack);
}

#endif
