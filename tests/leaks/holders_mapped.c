/*
 * holders_mapped.c - places that hold the one block (holders.h): memory that the program has mapped, and
 * whose state only the kernel knows.
 */
/* rtc-build: -pthread -fno-optimize-sibling-calls */
#include "holders.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

#define PAGE 4096u
#define READ_WRITE (PROT_READ | PROT_WRITE)

static char *map_at(void *at, size_t bytes, int protection, int flags, int file)
{
    char *p = mmap(at, bytes, protection, flags | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
    if (p == MAP_FAILED)
        abort();
    return p;
}

static void put_at(char *at)
{
    put((void *volatile *)(void *)at);
}

/* ---- the heap's address range ----------------------------------------------------------------- */

/* Far above the last block: the runtime has reserved that range for blocks to come. */
static void over_reserved_heap(void)
{
    uintptr_t block = (uintptr_t)malloc(1);
    char *at = (char *)((block & -(uintptr_t)PAGE) + (256u << 20));
    put_at(map_at(at, 16 * PAGE, READ_WRITE, MAP_PRIVATE | MAP_FIXED, -1) + 5 * PAGE);
    free((void *)block);
}

/* ---- pages that must not be read --------------------------------------------------------------- */

static char *volatile kept; /* the memory that holds the block */

static char *take_pages(size_t pages)
{
    char *p = aligned_alloc(PAGE, pages * PAGE);
    if (!p)
        abort();
    return p;
}

/* Before Linux 6.13 there are no guards: then this is a page like the others. */
static void hold_beside_guard(char *at)
{
    kept = at;
    memset(at + 16 * (size_t)PAGE, 1, PAGE);
    madvise(at + 16 * (size_t)PAGE, 2 * PAGE, MADV_GUARD_INSTALL);
    put_at(at + 2 * PAGE);
}

static void beside_guard(void)
{
    hold_beside_guard(map_at(NULL, 64 * PAGE, READ_WRITE, MAP_PRIVATE, -1));
}

static void beside_guard_sparse(void)
{
    hold_beside_guard(map_at(NULL, 1024 * PAGE, READ_WRITE, MAP_PRIVATE, -1));
}

static void block_with_guard(void)
{
    hold_beside_guard(take_pages(256));
}

static void small_block_with_guard(void)
{
    kept = take_pages(4);
    memset(kept, 0, 4 * (size_t)PAGE);
    madvise(kept + 2 * (size_t)PAGE, PAGE, MADV_GUARD_INSTALL);
    put_at(kept + 8);
}

/* The first page of a block does not exist in the child; the child holds a block of its own. */
static void child_without_page(void)
{
    kept = take_pages(2);
    memset(kept, 0, 2 * (size_t)PAGE);
    if (madvise(kept, PAGE, MADV_DONTFORK))
        abort();
    pid_t child = fork();
    if (child == 0) {
        put_at(kept + PAGE);
        return;
    }
    int status;
    if (waitpid(child, &status, 0) != child)
        abort();
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

/* A page that was never written is provided by a thread, which is stopped during the check. */
static int faults;

static void *provide_pages(void *unused)
{
    static char zeros[PAGE] __attribute__((aligned(PAGE)));
    struct uffd_msg m;
    while (read(faults, &m, sizeof m) == sizeof m) {
        struct uffdio_copy copy = {
            .dst = m.arg.pagefault.address & -(uint64_t)PAGE, .src = (uintptr_t)zeros, .len = PAGE};
        ioctl(faults, UFFDIO_COPY, &copy);
    }
    return unused;
}

/* Where the kernel refuses userfaultfd, this is memory like other memory. */
static void provided_by_thread(void)
{
    size_t bytes = 64 * PAGE;
    pthread_t thread;
    kept = map_at(NULL, bytes, READ_WRITE, MAP_PRIVATE, -1);
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {{(uintptr_t)kept, bytes}, UFFDIO_REGISTER_MODE_MISSING, 0};
    if (faults >= 0 && (ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &range) ||
                        pthread_create(&thread, NULL, provide_pages, NULL)))
        abort();
    put_at(kept + 2 * (size_t)PAGE);
}

/* ---- the table ------------------------------------------------------------------------------------ */

static const struct place rows[] = {
    /* clang-format off */
    {"over_reserved_heap", over_reserved_heap, "biu", "mapped by the program", NULL},
    {"beside_guard", beside_guard, "biu", "mapped by the program", NULL},
    {"beside_guard_sparse", beside_guard_sparse, "biu", "mapped by the program", NULL},
    {"block_with_guard", block_with_guard, "biu", "block of 1048576 bytes", NULL},
    {"small_block_with_guard", small_block_with_guard, "biu", "block of 16384 bytes", NULL},
    {"child_without_page", child_without_page, "biu", "block of 8192 bytes", NULL},
    {"provided_by_thread", provided_by_thread, "biu", "mapped by the program", NULL},
    /* clang-format on */
};

int main(int argc, char **argv)
{
    return run_place(argc, argv, rows, sizeof rows / sizeof rows[0]);
}
