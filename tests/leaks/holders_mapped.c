/*
 * holders_mapped.c - places that hold the one block (holders.h): memory that the program has mapped, and
 * whose state only the kernel knows.
 */
/* rtc-build: -pthread -fno-optimize-sibling-calls */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "holders.h"

#include "rtcheck/check.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
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

/* The parent ends as its child does. */
static void continue_in_child(void)
{
    pid_t child = fork();
    int status;
    if (child == 0)
        return;
    if (waitpid(child, &status, 0) != child)
        abort();
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

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

/*
 * MADV_DONTFORK: the first page of a block of the parent is not mapped in the child.  The pointer to the
 * child's block is in the second page.
 */
static void child_without_page(void)
{
    kept = take_pages(2);
    memset(kept, 0, 2 * (size_t)PAGE);
    if (madvise(kept, PAGE, MADV_DONTFORK))
        abort();
    continue_in_child();
    put_at(kept + PAGE);
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

/* ---- shared memory whose pages this mapping has not used ----------------------------------------- */

#define SHARED_BYTES (64 * (size_t)PAGE)
#define PLACE (2 * (size_t)PAGE)

static char *map_shared(int file)
{
    return map_at(NULL, SHARED_BYTES, READ_WRITE, MAP_SHARED, file);
}

static int make_file(void)
{
    int file = memfd_create("holders", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, SHARED_BYTES))
        abort();
    return file;
}

static void shared_discarded(void)
{
    kept = map_shared(-1);
    put_at(kept + PLACE);
    madvise(kept, SHARED_BYTES, MADV_DONTNEED);
}

static void shared_mapped_twice(void)
{
    int file = make_file();
    char *first = map_shared(file);
    put_at(first + PLACE);
    kept = map_shared(file);
    munmap(first, SHARED_BYTES);
}

static void shared_duplicated(void)
{
    char *first = map_shared(-1);
    put_at(first + PLACE);
    kept = mremap(first, 0, SHARED_BYTES, MREMAP_MAYMOVE);
    munmap(first, SHARED_BYTES);
}

static void shared_written_by_call(void)
{
    int file = make_file();
    void *volatile local;
    kept = map_shared(file);
    put(&local);
    if (pwrite(file, (const void *)(uintptr_t)&local, sizeof local, PLACE) != sizeof local)
        abort();
    local = NULL;
}

static void shared_written_by_child(void)
{
    void *volatile local;
    kept = map_shared(-1);
    put(&local);
    if (fork() == 0) {
        *(void **)(void *)(kept + PLACE) = local;
        syscall(SYS_exit_group, 0);
    }
    wait(NULL);
    local = NULL;
}

/* A child has no pages of shared memory at first. */
static uintptr_t hidden_block;

static NOINLINE void hold_block_in_shared(void)
{
    void *block = calloc(1, 64);
    kept = map_shared(-1);
    *(void **)(void *)(kept + PLACE) = block;
    hidden_block = ~(uintptr_t)block;
}

static void shared_inherited(void)
{
    hold_block_in_shared();
    scrub();
    continue_in_child();
    put_at((char *)~hidden_block + 8);
}

static void segment_attached_again(void)
{
    int id = shmget(IPC_PRIVATE, SHARED_BYTES, IPC_CREAT | 0600);
    char *first = shmat(id, NULL, 0);
    kept = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    put_at(first + PLACE);
    shmdt(first);
}

/* On a disk: its pages are written back and taken.  Elsewhere the page stays in memory. */
static void file_paged_out(void)
{
    char name[] = "holders.XXXXXX";
    int file = mkstemp(name);
    if (file < 0 || ftruncate(file, SHARED_BYTES))
        abort();
    kept = map_shared(file);
    put_at(kept + PLACE);
    msync(kept, SHARED_BYTES, MS_SYNC);
    madvise(kept, SHARED_BYTES, MADV_PAGEOUT);
    unlink(name);
}

/* A block that the program has made itself. */
static void client_block_in_shared(void)
{
    kept = map_shared(-1);
    rtc_record_malloc(kept, SHARED_BYTES);
    put_at(kept + PLACE);
    madvise(kept, SHARED_BYTES, MADV_DONTNEED);
}

/* A registered region, read-only here, at the end of a process whose main thread has ended. */
static void *end_without_main(void *main_thread)
{
    int file = make_file();
    pthread_join(*(pthread_t *)main_thread, NULL);
    usleep(100000); /* it ends soon after it can be joined */
    char *first = map_shared(file);
    kept = map_at(NULL, SHARED_BYTES, PROT_READ, MAP_SHARED, file);
    rtc_add_root_region(kept, SHARED_BYTES);
    put_at(first + PLACE);
    munmap(first, SHARED_BYTES);
    scrub();
    end();
}

static void region_without_main(void)
{
    static pthread_t self;
    pthread_t thread;
    self = pthread_self();
    if (pthread_create(&thread, NULL, end_without_main, &self))
        abort();
    pthread_exit(NULL);
}

/* ---- without the pagemap ------------------------------------------------------------------------- */

/* The files of a process that is not dumpable are root's, except those that all may read. */
static void undumpable_shared(void)
{
    prctl(PR_SET_DUMPABLE, 0);
    kept = map_shared(-1);
    put_at(kept + PLACE);
}

static void undumpable_closed(void)
{
    prctl(PR_SET_DUMPABLE, 0);
    kept = map_at(NULL, SHARED_BYTES, READ_WRITE, MAP_PRIVATE, -1);
    put_at(kept + PLACE);
    mprotect(kept, SHARED_BYTES, PROT_NONE);
}

/* The list of mappings takes the only descriptor; memory that nothing has used comes before. */
static void one_descriptor(void)
{
    kept = map_shared(-1);
    put_at(kept + PLACE);
    madvise(kept, SHARED_BYTES, MADV_DONTNEED);
    map_at(NULL, 1u << 20, PROT_NONE, MAP_PRIVATE, -1);
    int next = dup(0);
    close(next);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)next + 1, (rlim_t)next + 1});
}

/* ---- protected after it was written -------------------------------------------------------------- */

static struct {
    long initialized;
    void *volatile held;
    char more[PAGE - 16];
} settings __attribute__((aligned(PAGE))) = {.initialized = 1};

static void data_protected(void)
{
    put(&settings.held);
    mprotect(&settings, PAGE, PROT_READ);
}

static void data_closed(void)
{
    put(&settings.held);
    mprotect(&settings, PAGE, PROT_NONE);
}

static void protect_break(int protection)
{
    uintptr_t at = (uintptr_t)sbrk(SHARED_BYTES);
    kept = (char *)((at + PAGE - 1) & -(uintptr_t)PAGE);
    put_at(kept + PLACE);
    mprotect(kept, SHARED_BYTES / 2, protection);
}

static void break_protected(void)
{
    protect_break(PROT_READ);
}

static void break_closed(void)
{
    protect_break(PROT_NONE);
}

/* ---- memory that was a thread's stack ----------------------------------------------------------- */

#define STACK_BYTES (1u << 20)

static void *use_stack(void *unused)
{
    volatile char used[3 * PAGE];
    for (size_t i = 0; i < sizeof used; i += PAGE / 2)
        used[i] = 1;
    return unused;
}

/* The program's own memory, above a guard as libc's stacks; data after the thread has ended. */
static void stack_reused(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    char *all = map_at(NULL, STACK_BYTES + PAGE, READ_WRITE, MAP_PRIVATE, -1);
    if (mprotect(all, PAGE, PROT_NONE) || pthread_attr_init(&attributes) ||
        pthread_attr_setstack(&attributes, all + PAGE, STACK_BYTES) ||
        pthread_create(&thread, &attributes, use_stack, NULL) || pthread_join(thread, NULL))
        abort();
    put_at(all + PAGE + STACK_BYTES / 2);
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
    {"shared_discarded", shared_discarded, "biu", "/dev/zero", NULL},
    {"shared_mapped_twice", shared_mapped_twice, "biu", "memfd:holders", NULL},
    {"shared_duplicated", shared_duplicated, "biu", "/dev/zero", NULL},
    {"shared_written_by_call", shared_written_by_call, "biu", "memfd:holders", NULL},
    {"shared_written_by_child", shared_written_by_child, "biu", "/dev/zero", NULL},
    {"shared_inherited", shared_inherited, "biu", "block of 64 bytes", NULL},
    {"segment_attached_again", segment_attached_again, "biu", "SYSV", NULL},
    {"file_paged_out", file_paged_out, "biu", "holders\\.", NULL},
    {"client_block_in_shared", client_block_in_shared, "biu", "block of 262144 bytes", NULL},
    {"region_without_main", region_without_main, "biu", "root region", NULL},
    {"undumpable_shared", undumpable_shared, "biu", "/dev/zero", NULL},
    {"undumpable_closed", undumpable_closed, "biu", "mapped by the program", NULL},
    {"one_descriptor", one_descriptor, "biu", "/dev/zero", NULL},
    {"data_protected", data_protected, "biu", "settings", NULL},
    {"data_closed", data_closed, "biu", "settings", NULL},
    {"stack_reused", stack_reused, "biu", "mapped by the program", NULL},
    {"break_protected", break_protected, "biu", "heap", NULL},
    {"break_closed", break_closed, "biu", "heap", NULL},
    /* clang-format on */
};

int main(int argc, char **argv)
{
    return run_place(argc, argv, rows, sizeof rows / sizeof rows[0]);
}
