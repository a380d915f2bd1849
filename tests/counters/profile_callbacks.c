/*
 * profile_callbacks.c - rows of profile.def: what a callback may do, and what it may not.
 */
#include "profile.h"

#include "rtcheck/event.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

static _Atomic unsigned delivered;

/* ---- permitted calls in a callback ---------------------------------------------------------------- */

static int reads(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size,
                 void *context)
{
    (void)event, (void)param, (void)size;
    uint64_t *allocs = context, sites;
    size_t bytes = sizeof sites;
    must(rtc_profile_read_u64(p, (uint32_t)allocs[0], &allocs[1]) == 0);
    must(rtc_profile_start_reads(p, 0) == 0 && rtc_profile_start_reads(p, 0) == 0);
    must(rtc_profile_read_u64(p, (uint32_t)allocs[0], &allocs[2]) == 0);
    must(rtc_profile_end_reads(p, 0) == 0 && rtc_profile_end_reads(p, 0) == 0);
    must(rtc_profile_end_reads(p, 0) ==
         -EINVAL); /* a callback cannot end a read that the program has started */
    must(rtc_profile_read_data(p, (uint32_t)allocs[3], &sites, &bytes) == -ERANGE && bytes >= 24);
    must(rtc_profile_context(p) == NULL && rtc_profile_site_of(freed) == 0);
    delivered++;
    return 0;
}

void row_callback_reads(void)
{
    rtc_profile_t *p = open_process();
    uint64_t at[4] = {id_of(p, "alloc_calls"), 0, 0, id_of(p, "top_sites")};
    listen_to(p, "bad_free", reads, at);
    must(rtc_profile_start_reads(p, 0) == 0);
    uint64_t before = read_var(p, "alloc_calls");
    allocate(0, 10);
    free_twice(); /* one block more */
    must(delivered == 1 && at[1] == before + 11 && at[2] == before + 11);
    must(read_var(p, "alloc_calls") == before && rtc_profile_end_reads(p, 0) == 0);
}

static void count_callback(unsigned type, union rtc_event *event, void *arg)
{
    (void)type, (void)event;
    rtc_profile_t *p = arg;
    must(rtc_profile_register_callback(p, 1, count_call, NULL) == -EDEADLK &&
         rtc_profile_close(p) == -EDEADLK);
    delivered++;
}

static int is_refused(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size,
                      void *context)
{
    (void)param, (void)size, (void)context;
    rtc_profile_t *other = NULL;
    size_t count = 0;
    must(rtc_profile_register_callback(p, event->id, count_call, NULL) == -EDEADLK);
    must(rtc_profile_register_callback(p, event->id, NULL, NULL) == -EDEADLK);
    must(rtc_profile_query_vars(p, NULL, &count) == -EDEADLK &&
         rtc_profile_query_events(p, NULL, &count) == -EDEADLK);
    must(rtc_profile_open(RTC_PROFILE_PROCESS, 0, 0, &other, NULL) == -EDEADLK && !other);
    must(rtc_profile_close(p) == -EDEADLK && rtc_profile_reset(p, 0) == -EDEADLK);
    must(rtc_event_set_handler(RTC_EVENT_MMAP, 0, count_callback, p) == -EDEADLK);
    delivered++;
    return 0;
}

/* These calls return errors and do not deadlock; also between callbacks of the two kinds. */
void row_callback_limits(void)
{
    rtc_profile_t *p = open_process();
    listen_to(p, "bad_free", is_refused, NULL);
    free_twice();
    must(delivered == 1);
    must(rtc_event_set_handler(RTC_EVENT_MMAP, 0, count_callback, p) == 0);
    must(mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    must(delivered == 2 && rtc_event_unset_handler(RTC_EVENT_MMAP, count_callback, p) == 0);
    must(rtc_profile_close(p) == 0);
}

static void *own, *other;

static int allocates(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size,
                     void *context)
{
    (void)p, (void)event, (void)param, (void)size, (void)context;
    void *q = &q;
    errno = 0;
    must(!malloc(10) && errno == ENOMEM && !calloc(1, 10) && !aligned_alloc(64, 64));
    must(posix_memalign(&q, 64, 64) == ENOMEM && !strdup("word"));
    must(!realloc(NULL, 10) && !realloc(own, 8) && !realloc(own, 1 << 20));
    free(other);       /* permitted */
    must(!malloc(10)); /* still */
    free_badly(other); /* its own errors are not delivered to it */
    delivered++;
    return 0;
}

void row_callback_allocates(void)
{
    rtc_profile_t *p = open_process();
    own = malloc(8);
    other = malloc(20);
    memcpy(own, "as it is", 8);
    listen_to(p, "bad_free", allocates, NULL);
    unsigned errors = 0;
    listen_to(p, "alloc_error", count_call, &errors); /* none of these failures counts as one */
    uint64_t frees = read_var(p, "free_calls"), allocs = read_var(p, "alloc_calls");
    must(rtc_profile_reset(open_process(), 0) == 0);
    free_badly((char *)own + 1);
    must(delivered == 1 && errors == 0 && memcmp(own, "as it is", 8) == 0);
    must(read_var(p, "alloc_calls") == allocs && read_var(p, "free_calls") == frees + 1);
    must(read_var(p, "err_duf") == 1 && read_var(p, "err_maf") == 1 && read_var(p, "err_oom") == 0);
    must((own = realloc(own, 100))); /* after the callback */
    must(malloc(10));
}

static int frees_badly(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size,
                       void *context)
{
    (void)p, (void)event, (void)param, (void)size;
    unsigned *depth = context;
    must(++*depth < 10 && !malloc(10));
    free_twice();
    must(!malloc(10));
    return 0;
}

/* Errors of one callback are delivered to the others. */
void row_callbacks_within(void)
{
    unsigned first = 0, second = 0;
    rtc_profile_t *p = open_process(), *q = open_process();
    listen_to(p, "bad_free", frees_badly, &first);
    listen_to(q, "bad_free", frees_badly, &second);
    free_twice();
    must(first == 2 && second == 2); /* each by the program, and by the other */
    must(malloc(10));
}

static sigjmp_buf back;

static void jump(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

static int is_interrupted(rtc_profile_t *p, struct rtc_profile_desc *event, void *param,
                          size_t size, void *context)
{
    (void)p, (void)event, (void)param, (void)size;
    unsigned *how = context;
    must(!malloc(10));
    if (*how > 1)
        free_twice(); /* delivered to the other callback */
    else if (*how == 1)
        raise(SIGUSR1);
    return 0;
}

static int jumps_within(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size,
                        void *context)
{
    (void)p, (void)event, (void)param, (void)size;
    unsigned one = 1;
    if (sigsetjmp(back, 1) == 0)
        is_interrupted(p, event, param, size, &one);
    must(!malloc(10)); /* still */
    ++*(unsigned *)context;
    return 0;
}

/* By the handler of a signal, by siglongjmp. */
void row_callback_left(void)
{
    unsigned one = 1, two = 2, within = 0;
    volatile unsigned left = 0;
    rtc_profile_t *p = open_process(), *q = open_process();
    struct sigaction action = {.sa_handler = jump};
    must(sigaction(SIGUSR1, &action, NULL) == 0);
    listen_to(p, "bad_free", jumps_within, &within);
    free_twice();
    must(within == 1 && malloc(10));
    for (volatile int i = 0; i < 4; i++) {
        if (i == 0)
            listen_to(p, "bad_free", is_interrupted, &one);
        if (i == 2) { /* of two in each other the inner one is */
            listen_to(p, "bad_free", is_interrupted, &two);
            listen_to(q, "bad_free", is_interrupted, &one);
        }
        if (sigsetjmp(back, 1) == 0)
            free_twice();
        else
            left++;
        must(malloc(10));
    }
    must(left == 4 && rtc_profile_close(p) == 0 && rtc_profile_close(q) == 0);
}

static pthread_key_t ending;

static void *ends_at_once(void *unused)
{
    pthread_exit(unused);
}

static int ends(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size,
                void *context)
{
    (void)p, (void)event, (void)param, (void)size;
    unsigned *times = context;
    if (++*times == 1)
        pthread_exit(NULL);
    return 0;
}

/* Overwrite the stack of the thread. */
static void scribble(void *unused)
{
    volatile char room[1 << 16];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 'A';
    (void)unused;
}

static __attribute__((noinline)) void free_twice_deeply(void)
{
    volatile char room[1 << 14];
    room[0] = 0;
    free_twice();
    (void)room[0];
}

static void allocate_at_last(void *times)
{
    must(malloc(10));
    free_twice();
    must(*(unsigned *)times == 2);
}

static void *ends_in_callback(void *times)
{
    must(pthread_setspecific(ending, times) == 0);
    pthread_cleanup_push(scribble, NULL);
    free_twice_deeply();
    pthread_cleanup_pop(0);
    must(!"it came back");
    return NULL;
}

/* By the end of its thread, though it may not. */
void row_callback_ends(void)
{
    unsigned times = 0;
    pthread_t thread;
    rtc_profile_t *p = open_process();
    must(pthread_key_create(&ending, allocate_at_last) == 0);
    must(pthread_create(&thread, NULL, ends_at_once, NULL) == 0 &&
         pthread_join(thread, NULL) == 0); /* loads a library */
    listen_to(p, "bad_free", ends, &times);
    must(pthread_create(&thread, NULL, ends_in_callback, &times) == 0 &&
         pthread_join(thread, NULL) == 0);
    must(times == 2 && rtc_profile_close(p) == 0);
}

static int forks(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size,
                 void *context)
{
    (void)event, (void)param, (void)size;
    *(pid_t *)context = fork();
    must(!malloc(10) && read_var != NULL && rtc_profile_context(p) == NULL);
    return 0;
}

/* On both sides the callback returns; the child does not wait for threads that it does not have. */
void row_callback_forks(void)
{
    pid_t pid = -1;
    rtc_profile_t *p = open_process();
    listen_to(p, "bad_free", forks, &pid);
    free_twice();
    must(pid >= 0 && malloc(10));
    must(rtc_profile_close(p) == 0);
    if (pid == 0)
        _exit(0);
    must_end_well(pid);
}

/* ---- many at once --------------------------------------------------------------------------------- */

static _Atomic unsigned long callbacks_made;
static _Atomic bool over;

static int counts(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size,
                  void *context)
{
    (void)p, (void)event, (void)param, (void)size;
    must(*(volatile unsigned *)context == 5 && !malloc(1));
    callbacks_made++;
    return 0;
}

static void *fail_often(void *unused)
{
    while (!over)
        must(!malloc((size_t)1 << 50));
    return unused;
}

/* While events are delivered, callbacks are registered and removed, and their contexts unmapped. */
void row_callbacks_come_and_go(void)
{
    pthread_t thread[4];
    for (unsigned i = 0; i < 4; i++)
        must(pthread_create(&thread[i], NULL, fail_often, NULL) == 0);
    for (unsigned i = 0; i < 300; i++) {
        unsigned *context =
            mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        rtc_profile_t *p = open_process();
        *context = 5;
        unsigned long before = callbacks_made;
        listen_to(p, "alloc_error", counts, context);
        while (callbacks_made == before)
            sched_yield();
        must(rtc_profile_close(p) == 0);
        must(munmap(context, 4096) == 0); /* a fault if a callback still runs */
    }
    over = true;
    for (unsigned i = 0; i < 4; i++)
        must(pthread_join(thread[i], NULL) == 0);
}
