/*
 * start.c - start-up at the first use. The first caller (the loader, a library's constructor, or
 * our own) initializes everything, without a call into libc. Parts that need libc wait for our
 * constructor.
 *
 * No failure here harms the program. Without a run file the records are private memory. Without an
 * environment, calls get bootstrap memory until there is one.
 */
#include "byte_shadow.h"
#include "init.h"
#include "translated.h"
#include "translated_trap.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

struct runtime rt = {.options = {.trace_children = true,
                                 .leaks = true,
                                 .leak_check = true,
                                 .mel_at_exit = true,
                                 .heap_in_file = RTC_HEAP_IN_FILE,
                                 .heap_bytes = RTC_POOL_BYTES,
                                 .fork = FORK_HEAP_PRIVATE,
                                 .frames = RTC_STACK_FRAMES,
                                 .cost_every = 1000,
                                 .access = true,
                                 .access_every = 16,
                                 .guard = {.edges = GUARD_EDGES_BOTH},
                                 .error_limit = 1000,
                                 .error_exitcode = -1}};

enum { NOT_STARTED, STARTING, STARTED };
static _Atomic uint32_t state;

bool init_is_started(void)
{
    return atomic_load_explicit(&state, memory_order_acquire) == STARTED;
}

static const char *variable(char *const *envp, const char *prefix)
{
    for (; *envp; envp++)
        if (text_starts(*envp, prefix))
            return *envp + text_length(prefix);
    return NULL;
}

/* In place of libvmmalloc: the records that forks need are in memory, and no process reads them. */
static int start_drop_in(char *const *envp)
{
    drop_in_start(envp);
    return run_start(&(struct run_request){.envp = envp, .unnamed = true});
}

static int start_run(char *const *envp)
{
    if (drop_in_is_selected(envp))
        return start_drop_in(envp);
    const char *run = variable(envp, "RTCHECK_RUN_FILE=");
    const char *options = variable(envp, "RTCHECK_OPTIONS=");
    const char *pool_size = variable(envp, "RTCHECK_POOL_SIZE=");
    if (!run && options)
        options_read(&rt.options, options);
    if (!run && pool_size && !rt.options.has_pool_size)
        options_read_pool_size(&rt.options, pool_size);
    struct run_request request = {
        .env = run,
        .pool_dir = rt.options.pool_dir,
        .envp = envp,
        .options = options,
        .has_heap = options_want_heap_in_file(&rt.options),
        .heap_bytes = rt.options.heap_bytes,
    };
    int err = run_start(&request);
    if (!err && run)
        options_read(&rt.options, run_header()->options);
    return err;
}

static void after_fork(bool fresh)
{
    unwind_after_fork(fresh);
    errors_after_fork();
    descriptors_after_fork();
    annotations_after_fork();
    mapped_after_fork();
    dispatched_after_fork();
    marks_after_fork();
    costs_after_fork();
    if (self)
        guarded_after_fork(self);
    if (rt.drop_in.is_on)
        vmmalloc_log_after_fork();
}

/* With heap=file in the file, if it has a heap for this process; in place of libvmmalloc in its pool. */
static void start_heap(void)
{
    bool in_file =
        options_want_heap_in_file(&rt.options) && run_header() && run_header()->heap_count;
    int err = heap_start(in_file || rt.drop_in.is_on);
    if (err && rt.drop_in.is_on)
        drop_in_refuse_pool(err);
    if (err && in_file) {
        run_header()->heap_error = (uint32_t)-err;
        heap_start(false);
    }
}

static void start(char **envp)
{
    os_start(envp);
    if (start_run(envp))
        os_mark_missing(OS_RUN_FILE);
    start_heap();
    struct image_request request = {
        .frames = rt.options.frames,
        .checks = CHECK_MADE | CHECK_REDZONES | (pool_knobs.free_fill < 0 ? 0 : CHECK_FREED) |
                  (wants_leaks() ? CHECK_LEAKS : 0) |
                  (wants_leaks() && rt.options.witness ? CHECK_POST_MORTEM : 0),
        .error_limit = rt.options.error_limit,
        .how = run_header() && atomic_load(&run_header()->next_image) ? IMAGE_EXEC : IMAGE_ROOT,
        .first_thread = 1,
        .flags = (heap_in_file() ? IMAGE_HEAP_IN_FILE : 0) |
                 (run_header() && run_header()->mode == RUN_BY_HAND ? IMAGE_BY_HAND : 0) |
                 (RECORD_BYTES > sizeof(struct block_record) ? IMAGE_RECORD_WIDE : 0) |
                 (variable(envp, "PYTHONMALLOC=malloc") ? IMAGE_PYTHON_MALLOC : 0), /* or _debug */
    };
    if (rt.options.access_full)
        byte_shadow_start();
    pool_knobs.marks_new = pool_knobs.malloc_fill >= 0 || byte_shadow_is_on;
    image_start(&request);
    heap_file_set_image();
    heap_files_after_exec();
    costs_start();
    errors_start();
    fork_start(after_fork, rt.drop_in.is_on ? rt.drop_in.fork : rt.options.fork);
    freed_pattern_start();
    slab_start();
    large_start();
    loader_start();
    stack_start();
    descriptors_start();
    image_note_losses();
    environment_take(envp);
}

COLD bool init_start(void)
{
    if (init_is_started())
        return true;
    uint32_t not_yet = NOT_STARTED;
    if (!environ || !atomic_compare_exchange_strong(&state, &not_yet, STARTING))
        return false;
    struct cost_part since = cost_part_begin();
    start(environ);
    cost_part_end(COST_START, since);
    atomic_store_explicit(&state, STARTED, memory_order_release);
    return true;
}

/*
 * Is the malloc that the program calls ours? The test is a call: in a program that is not
 * position-independent, the symbol's address may be a stub that leads to ours.  Ours fails if the file of
 * the heap has no room.
 */
static void test_control(void)
{
    void *(*allocate)(size_t);
    void (*release)(void *);
    void *f = dlsym(RTLD_DEFAULT, "malloc"), *g = dlsym(RTLD_DEFAULT, "free");
    memcpy(&allocate, &f, sizeof allocate);
    memcpy(&release, &g, sizeof release);
    uint64_t failures = errors_no_memory();
    void *block = f ? allocate(1) : NULL;
    bool is_own = block ? pool_find(block).verdict == PTR_START : errors_no_memory() > failures;
    if (g)
        release(block);
    image_flag(is_own ? IMAGE_IN_CONTROL : IMAGE_OWN_MALLOC);
}

void init_constructed(char **envp)
{
    if (!environ)
        environ = envp;
    if (!init_start())
        return;
    next_resolve();
    thread_keys_ready();
    loader_constructed();
    image_note_losses();
    test_control();
    if (rt.options.access_full) {
        translated_start(byte_shadow_is_on ? rt.options.plans : NULL, translated_bad);
        objects_record();
    }
    if (byte_shadow_is_on)
        handlers_wrap_all();
    if (rt.options.access_full && !translated_counts().objects)
        image_flag(IMAGE_WITHOUT_COPIES);
}
