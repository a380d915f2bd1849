/*
 * ucm.c - the contract of rtcheck/ucm.h, row by row (ucm.def), by the names of UCX alone.
 *
 *     ucm [ROW...]     without the runtime: "absent"
 *     ucm set          register for all events: print the status
 *     ucm level        print the level of messages
 *
 * The rows are the scenarios of UCX's tests (malloc, mmap, mremap, shmat, brk, fork, dlopen, threads),
 * written anew from their description.
 *
 * rtc-build: -pthread
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "alone.h"
#include "rtcheck/ucm.h"

#define PAGE 4096ul
#define BIG (40ul << 20)
#define VM (UCM_EVENT_VM_MAPPED | UCM_EVENT_VM_UNMAPPED)
#define NATIVE                                                                                  \
    (UCM_EVENT_MMAP | UCM_EVENT_MUNMAP | UCM_EVENT_MREMAP | UCM_EVENT_SHMAT | UCM_EVENT_SHMDT | \
     UCM_EVENT_SBRK | UCM_EVENT_MADVISE | UCM_EVENT_BRK)

#define ROW(name) static void row_##name(void);
#include "ucm.def"
#undef ROW

/* ---- what a handler has seen ---------------------------------------------------------------------- */

struct seen {
    ucm_event_type_t type;
    char *at;
    size_t bytes;
    unsigned long order; /* calls of handlers so far */
};

/*
 * volatile: libc's functions are declared as "leaf", so compilers assume that munmap calls nothing
 * in this file.
 */
static volatile struct seen seen[20000];
static _Atomic unsigned seen_count;
static volatile size_t mapped_bytes, unmapped_bytes;

static void note(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    (void)arg;
    unsigned i = seen_count++;
    if (type == UCM_EVENT_VM_MAPPED)
        mapped_bytes += event->vm_mapped.size;
    else
        unmapped_bytes += event->vm_unmapped.size;
    if (i < sizeof seen / sizeof *seen)
        seen[i].type = type, seen[i].at = event->vm_mapped.address,
        seen[i].bytes = event->vm_mapped.size, seen[i].order = i;
}

static void listen(void)
{
    must(ucm_set_event_handler(VM, 0, note, NULL) == UCS_OK);
    seen_count = 0; /* registering has tested the calls */
    mapped_bytes = unmapped_bytes = 0;
}

static const volatile struct seen *find(ucm_event_type_t type, const void *at, size_t bytes)
{
    for (unsigned i = 0; i < seen_count && i < sizeof seen / sizeof *seen; i++)
        if (seen[i].type == type && seen[i].at <= (const char *)at &&
            (const char *)at + bytes <= seen[i].at + seen[i].bytes)
            return &seen[i];
    return NULL;
}

static bool is_mapped(const void *at, size_t bytes)
{
    return find(UCM_EVENT_VM_MAPPED, at, bytes);
}

static bool is_unmapped(const void *at, size_t bytes)
{
    return find(UCM_EVENT_VM_UNMAPPED, at, bytes);
}

static char *map(size_t pages)
{
    char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(at != MAP_FAILED);
    return at;
}

/* ---- registering ---------------------------------------------------------------------------------- */

static void row_empty_mask(void)
{
    must(ucm_set_event_handler(0, 0, note, NULL) == UCS_OK);
    must(ucm_set_event_handler(0, 0, NULL, NULL) == UCS_OK);
    munmap(map(1), PAGE);
    must(seen_count == 0);
}

static void row_statuses(void)
{
    must(ucm_set_event_handler(1 << 30, 0, note, NULL) == UCS_ERR_INVALID_PARAM);
    must(ucm_set_event_handler(VM, 0, NULL, NULL) == UCS_ERR_INVALID_PARAM);
    must(ucm_test_events(VM | NATIVE) == UCS_OK && ucm_test_external_events(VM) == UCS_OK);
    listen();
    ucm_unset_event_handler(UCM_EVENT_VM_MAPPED, note, NULL);
    char *at = map(3);
    must(munmap(at, 3 * PAGE) == 0 && !is_mapped(at, 1) && is_unmapped(at, 3 * PAGE));
    ucm_unset_event_handler(VM, note, NULL);
    seen_count = 0;
    must(munmap(map(3), 3 * PAGE) == 0 && seen_count == 0);
}

/* ---- calls ---------------------------------------------------------------------------------------- */

static void row_mapping(void)
{
    listen();
    char *at = map(4);
    must(is_mapped(at, 4 * PAGE) && mapped_bytes == 4 * PAGE && unmapped_bytes == 0);
    must(munmap(at, 4 * PAGE) == 0 && is_unmapped(at, 4 * PAGE) && unmapped_bytes == 4 * PAGE);
}

/* The part that MAP_FIXED replaces is announced first. */
static void row_mapping_over(void)
{
    char *at = map(4);
    listen();
    must(mmap(at + PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
         at + PAGE);
    must(unmapped_bytes == PAGE && mapped_bytes == PAGE);
    must(find(UCM_EVENT_VM_UNMAPPED, at + PAGE, PAGE)->order <
         find(UCM_EVENT_VM_MAPPED, at + PAGE, PAGE)->order);
}

static void row_moving(void)
{
    char *at = map(4), *to = map(4);
    strcpy(at, "moved");
    listen();
    must(mremap(at, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
    must(strcmp(to, "moved") == 0);
    must(is_unmapped(at, 4 * PAGE) && is_unmapped(to, 4 * PAGE) && is_mapped(to, 4 * PAGE));
    must(ucm_mremap(to, 4 * PAGE, 2 * PAGE, MREMAP_MAYMOVE) == to && is_unmapped(to, 2 * PAGE));
    must(ucm_orig_mremap(to, 2 * PAGE, PAGE, 0) == to);
}

static void cancelled(unsigned type, union rtc_event *event, void *arg)
{
    must(type == RTC_EVENT_VM_CANCELLED);
    *(size_t *)arg += event->vm_cancelled.size;
}

/* VM_UNMAPPED precedes each munmap, also a refused one; event.h has VM_CANCELLED then. */
static void row_refused(void)
{
    size_t bytes = 0;
    char *at = map(2);
    listen();
    must(rtc_event_set_handler(RTC_EVENT_VM_CANCELLED, 0, cancelled, &bytes) == 0);
    must(mmap(at, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, -1, 0) == MAP_FAILED && errno == EBADF);
    must(is_unmapped(at, PAGE) && bytes == PAGE && mapped_bytes == 0);
    must(munmap(at, 0) == -1 && errno == EINVAL);
    must(munmap(at + 1, PAGE) == -1 && errno == EINVAL);
}

static int segment_of(size_t pages)
{
    int segment = shmget(IPC_PRIVATE, pages * PAGE, IPC_CREAT | 0600);
    must(segment >= 0);
    return segment;
}

static void row_shared_memory(void)
{
    int segment = segment_of(3);
    listen();
    char *at = shmat(segment, NULL, 0);
    must(at != MAP_FAILED && shmctl(segment, IPC_RMID, NULL) == 0);
    must(is_mapped(at, 3 * PAGE) && mapped_bytes == 3 * PAGE);
    must(shmdt(at) == 0 && is_unmapped(at, 3 * PAGE) && unmapped_bytes == 3 * PAGE);
    must(shmdt(at) == -1 && errno == EINVAL);
}

/* SHM_REMAP with SHM_RND: the events are at the rounded address. */
static void row_shared_memory_over(void)
{
    int segment = segment_of(2);
    char *at = map(4);
    listen();
    must(shmat(segment, at + 1, SHM_REMAP | SHM_RND) == at);
    must(shmctl(segment, IPC_RMID, NULL) == 0);
    must(is_unmapped(at, 2 * PAGE) && is_mapped(at, 2 * PAGE) && mapped_bytes == 2 * PAGE);
    must(shmdt(at) == 0 && unmapped_bytes == 4 * PAGE);
}

static void row_break_by(void)
{
    listen();
    char *at = sbrk(3 * (intptr_t)PAGE);
    must(at != MAP_FAILED && mapped_bytes >= 3 * PAGE);
    must(sbrk(-3 * (intptr_t)PAGE) != MAP_FAILED && unmapped_bytes >= 3 * PAGE);
    must(ucm_sbrk(0) == at && ucm_orig_sbrk(0) == at);
}

static void row_break_to(void)
{
    listen();
    char *at = sbrk(0);
    must(brk(at + 2 * PAGE) == 0 && mapped_bytes >= 2 * PAGE);
    must(ucm_brk(at) == 0 && unmapped_bytes >= 2 * PAGE);
    must(ucm_orig_brk(at) == 0);
}

static void row_advice(void)
{
    char *at = map(3);
    listen();
    must(madvise(at, PAGE, MADV_WILLNEED) == 0 && seen_count == 0);
    must(madvise(at, 2 * PAGE, MADV_DONTNEED) == 0 && is_unmapped(at, 2 * PAGE));
    must(ucm_madvise(at + 2 * PAGE, PAGE, MADV_DONTNEED) == 0 && is_unmapped(at + 2 * PAGE, PAGE));
}

static void row_without_events(void)
{
    int segment = segment_of(1);
    listen();
    char *at = ucm_orig_mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(at != MAP_FAILED && ucm_orig_madvise(at, PAGE, MADV_DONTNEED) == 0);
    must(ucm_orig_munmap(at, PAGE) == 0);
    at = ucm_orig_shmat(segment, NULL, 0);
    must(at != MAP_FAILED && shmctl(segment, IPC_RMID, NULL) == 0 && ucm_orig_shmdt(at) == 0);
    must(seen_count == 0);
    at = ucm_mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(is_mapped(at, PAGE) && ucm_munmap(at, PAGE) == 0 && is_unmapped(at, PAGE));
}

/* ---- malloc --------------------------------------------------------------------------------------- */

static void row_small_blocks(void)
{
    static char *block[20000];
    unsigned inside = 0;
    listen();
    for (unsigned i = 0; i < 20000; i++) {
        must((block[i] = malloc(1000)));
        inside += is_mapped(block[i], 1000);
    }
    must(inside > 2000);
    for (unsigned i = 0; i < 20000; i++)
        free(block[i]);
}

/* Without UCM_EVENT_FLAG_EXISTING_ALLOC. */
static void row_big_block(void)
{
    listen();
    char *block = malloc(BIG);
    must(block && is_mapped(block, BIG) && !is_unmapped(block, 1));
    memset(block, 7, BIG);
    uintptr_t was = (uintptr_t)block;
    free(block);
    must(is_unmapped((void *)was, BIG));
}

static void row_blocks_from_before(void)
{
    char *block = malloc(BIG), *text = strdup("kept");
    listen();
    must((text = realloc(text, BIG)) && strcmp(text, "kept") == 0);
    free(text);
    uintptr_t was = (uintptr_t)block;
    free(block);
    must(is_unmapped((void *)was, BIG) && setenv("UCM_ROW", "set", 1) == 0);
    must(strcmp(getenv("UCM_ROW"), "set") == 0);
}

/* ---- handlers ------------------------------------------------------------------------------------- */

static char order_of_calls[16];
static char *volatile order = order_of_calls;

static void append(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    if (type == UCM_EVENT_MUNMAP)
        strcat(order, event->munmap.result == -1 ? "-" : "+");
    strcat(order, arg);
}

/* Below 0 before the call; equal ones in the order of their registration. */
static void row_priorities(void)
{
    char a[] = "a", b[] = "b", c[] = "c", d[] = "d";
    char *at = map(1);
    must(ucm_set_event_handler(UCM_EVENT_MUNMAP, 5, append, d) == UCS_OK);
    must(ucm_set_event_handler(UCM_EVENT_MUNMAP, 0, append, b) == UCS_OK);
    must(ucm_set_event_handler(UCM_EVENT_MUNMAP, -3, append, a) == UCS_OK);
    must(ucm_set_event_handler(UCM_EVENT_MUNMAP, 0, append, c) == UCS_OK);
    order[0] = 0;
    must(munmap(at, PAGE) == 0 && strcmp(order, "-a+b+c+d") == 0);
}

static void refuse(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    (void)arg;
    must(type == UCM_EVENT_MMAP);
    if (event->mmap.result == MAP_FAILED && event->mmap.size == 77 * PAGE)
        event->mmap.result = arg;
}

/* A handler before the call performs it. */
static void row_performed(void)
{
    char *own = map(1);
    must(ucm_set_event_handler(UCM_EVENT_MMAP, -1, refuse, own) == UCS_OK);
    must(mmap(NULL, 77 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == own);
    must(map(1) != own);
}

static void row_no_install(void)
{
    must(ucm_set_event_handler(VM | UCM_EVENT_FLAG_NO_INSTALL, 0, note, NULL) == UCS_OK);
    must(munmap(map(1), PAGE) == 0 && seen_count == 0);
    char *at = ucm_mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(is_mapped(at, PAGE));
}

static void row_external(void)
{
    ucm_set_external_event(VM);
    must(ucm_set_event_handler(VM, 0, note, NULL) == UCS_OK);
    char *at = map(1);
    must(munmap(at, PAGE) == 0 && seen_count == 0);
    ucm_vm_mmap(at, PAGE);
    ucm_vm_munmap(at, PAGE);
    must(seen_count == 2 && is_mapped(at, PAGE) && is_unmapped(at, PAGE));
    must(ucm_test_external_events(VM) == UCS_ERR_UNSUPPORTED); /* this program does not announce */
    ucm_unset_external_event(VM);
    must(ucm_set_event_handler(VM, 0, note, order) == UCS_OK);
    must(munmap((at = map(2)), 2 * PAGE) == 0 && is_unmapped(at, 2 * PAGE));
}

static void device(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    must(event->mem_type.mem_type == UCS_MEMORY_TYPE_CUDA && event->mem_type.size == 5);
    *(unsigned *)arg |= (unsigned)type;
}

static void row_device_memory(void)
{
    unsigned types = 0;
    must(ucm_set_event_handler(UCM_EVENT_MEM_TYPE_ALLOC | UCM_EVENT_MEM_TYPE_FREE, 0, device,
                               &types) == UCS_OK);
    rtc_mem_type_alloc(&types, 5, UCS_MEMORY_TYPE_CUDA, 0, 0);
    rtc_mem_type_free(&types);
    must(types == (UCM_EVENT_MEM_TYPE_ALLOC | UCM_EVENT_MEM_TYPE_FREE));
}

/* ---- threads, forks, libraries -------------------------------------------------------------------- */

static _Thread_local volatile unsigned long own_bytes;
static _Atomic bool stop;

static void count_own(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    (void)arg;
    if (type == UCM_EVENT_VM_UNMAPPED && event->vm_unmapped.size == 5 * PAGE)
        own_bytes += event->vm_unmapped.size;
}

static void *map_often(void *unused)
{
    own_bytes = 0;
    for (unsigned i = 0; i < 500; i++)
        must(munmap(map(5), 5 * PAGE) == 0);
    must(own_bytes == 500 * 5 * PAGE);
    return unused;
}

static void row_threads(void)
{
    pthread_t thread[8];
    must(ucm_set_event_handler(VM, 0, count_own, NULL) == UCS_OK);
    for (unsigned i = 0; i < 8; i++)
        must(pthread_create(&thread[i], NULL, map_often, NULL) == 0);
    for (unsigned i = 0; i < 8; i++)
        must(pthread_join(thread[i], NULL) == 0);
}

static void *fail_often(void *unused)
{
    while (!stop)
        must(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
             errno == EINVAL);
    return unused;
}

/* Threads make failing calls while handlers come and go: errors arrive. */
static void row_spinning_threads(void)
{
    pthread_t thread[3];
    for (unsigned i = 0; i < 3; i++)
        must(pthread_create(&thread[i], NULL, fail_often, NULL) == 0);
    for (unsigned i = 0; i < 30; i++) {
        must(ucm_set_event_handler(VM | NATIVE, 0, count_own, NULL) == UCS_OK);
        ucm_unset_event_handler(VM | NATIVE, count_own, NULL);
    }
    stop = true;
    for (unsigned i = 0; i < 3; i++)
        must(pthread_join(thread[i], NULL) == 0);
}

/* Four forks; each child tests the events. */
static void row_forks(void)
{
    listen();
    for (unsigned i = 0; i < 4; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            must(ucm_test_events(VM) == UCS_OK);
            seen_count = 0;
            char *at = map(2);
            must(is_mapped(at, 2 * PAGE) && munmap(at, 2 * PAGE) == 0 && is_unmapped(at, 2 * PAGE));
            _exit(0);
        }
        must_end_well(pid);
    }
}

/* A library that is loaded later, and one that this one loads by its own search path. */
static void row_libraries(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 20);
    must(n > 0);
    path[n] = 0;
    strcpy(strrchr(path, '/'), "/do_load.so");
    listen();
    void *library = ucm_dlopen(path, RTLD_NOW), *f = library ? dlsym(library, "do_load") : NULL;
    void *(*load)(int, unsigned long);
    must(f && ucm_dlopen(NULL, RTLD_NOW));
    memcpy(&load, &f, sizeof f);
    for (int how = 0; how < 2; how++)
        must(is_mapped(load(how, 9 * PAGE), 9 * PAGE));
}

/* The second call has no effect; NULL: the defaults. */
static void row_set_once(void)
{
    ucm_global_config_t options = ucm_global_opts;
    must(options.enable_events && options.alloc_alignment == 16);
    must(options.mmap_hook_mode == UCM_MMAP_HOOK_BISTRO && options.log_level == UCS_LOG_LEVEL_WARN);
    options.enable_events = 0;
    ucm_library_init(&options);
    must(ucm_set_event_handler(VM, 0, note, NULL) == UCS_ERR_UNSUPPORTED);
    must(ucm_set_event_handler(0, 0, note, NULL) == UCS_OK);
    options.enable_events = 1;
    ucm_set_global_opts(&options);
    ucm_library_init(NULL);
    must(ucm_set_event_handler(VM, 0, note, NULL) == UCS_ERR_UNSUPPORTED);
}

static const struct row row[] = {
#define ROW(name) {#name, row_##name},
#include "ucm.def"
#undef ROW
};

/* Is it intercepted after this registration?  Register twice: each time it is tested. */
static int set(void)
{
    int first = ucm_set_event_handler(VM, 0, note, NULL);
    int second = ucm_set_event_handler(VM, 0, note, order);
    seen_count = 0;
    munmap(map(1), PAGE);
    printf("%d %d, %d\n", first, second, seen_count != 0);
    return 0;
}

int main(int argc, char **argv)
{
    const struct rows all = {row, sizeof row / sizeof row[0], 60, NULL};
    if (argc == 2 && strcmp(argv[1], "set") == 0)
        return set();
    if (argc == 2 && strcmp(argv[1], "level") == 0) {
        ucm_library_init(NULL);
        return printf("%d\n", ucm_global_opts.log_level) < 0;
    }
    return rows_main(&all, rtc_event_set_handler, argc, argv);
}
