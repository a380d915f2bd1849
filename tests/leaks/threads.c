/*
 * threads.c - programs with threads that lose nothing: what they allocate they free, or hold at the end.
 *
 * usage: threads NAME clean|leak WAY      threads --list
 *
 * WAY: return (from main), worker (another thread calls exit, main waits), exit_now (_exit).  `leak`: a
 * thread of the same program loses one block of BYTES on its way.
 */
/* rtc-build: +threads_cxx.cc -pthread -fno-optimize-sibling-calls */
#include "threads.h"

#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define THREADS 4
#define NOINLINE __attribute__((noinline))

static int is_leak;

/* Nothing of what was called before stays below our caller's frame. */
static NOINLINE void scrub(void)
{
    volatile char room[16384];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
}

static NOINLINE void lose(void)
{
    void *volatile p = malloc(BYTES);
    if (!p)
        abort();
    p = NULL;
}

void plant(void)
{
    static _Atomic int done;
    if (!is_leak || done++)
        return;
    lose();
    scrub();
}

static void *block(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p)
        abort();
    memset(p, 1, bytes);
    return p;
}

static pthread_t start(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, argument))
        abort();
    return thread;
}

static void join(pthread_t thread)
{
    if (pthread_join(thread, NULL))
        abort();
}

/* As many threads of one body, from begin to end. */
static void crowd(void *(*body)(void *))
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        thread[i] = start(body, NULL);
    for (int i = 0; i < THREADS; i++)
        join(thread[i]);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Threads that are still there when the program ends, once all of them are. */
static pthread_barrier_t ready;

static void stay(void)
{
    pthread_barrier_wait(&ready);
    for (;;)
        pause();
}

static void crowd_that_stays(void *(*body)(void *))
{
    pthread_barrier_init(&ready, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_detach(start(body, NULL));
    pthread_barrier_wait(&ready);
}

/* ---- queues and locks -------------------------------------------------------------------------- */

struct job {
    struct job *next;
    char *text;
};

static struct job *queue;
static int queue_closed;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;

static void *pool_body(void *unused)
{
    pthread_mutex_lock(&lock);
    while (queue || !queue_closed) {
        struct job *job = queue;
        if (!job) {
            pthread_cond_wait(&queue_changed, &lock);
            continue;
        }
        queue = job->next;
        pthread_mutex_unlock(&lock);
        plant();
        free(job->text);
        free(job);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

static void pool(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        thread[i] = start(pool_body, NULL);
    for (int i = 0; i <= 500; i++) {
        struct job *job = i < 500 ? block(sizeof *job) : NULL;
        pthread_mutex_lock(&lock);
        if (job) {
            *job = (struct job){queue, strdup("a job")};
            queue = job;
        }
        queue_closed = !job;
        pthread_cond_broadcast(&queue_changed);
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < THREADS; i++)
        join(thread[i]);
}

static sem_t full, empty;
static void *passed;

static void *consume(void *unused)
{
    for (int i = 0; i < 200; i++) {
        sem_wait(&full);
        free(passed);
        passed = NULL;
        sem_post(&empty);
    }
    plant();
    return unused;
}

static void semaphores(void)
{
    sem_init(&full, 0, 0);
    sem_init(&empty, 0, 1);
    pthread_t thread = start(consume, NULL);
    for (int i = 0; i < 200; i++) {
        sem_wait(&empty);
        passed = block(40 + (size_t)i);
        sem_post(&full);
    }
    join(thread);
}

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static char *table[64];

static void *rwlock_body(void *unused)
{
    for (int i = 0; i < 400; i++) {
        pthread_rwlock_wrlock(&table_lock);
        free(table[i % 64]);
        table[i % 64] = block(30);
        pthread_rwlock_unlock(&table_lock);
        pthread_rwlock_rdlock(&table_lock);
        char *copy = strdup(table[i % 64] ? "there" : "gone");
        pthread_rwlock_unlock(&table_lock);
        free(copy);
    }
    plant();
    return unused;
}
static void rwlock(void) { crowd(rwlock_body); } /* the table is held at the end */

static void *robust_body(void *mutex)
{
    plant();
    pthread_mutex_lock(mutex);
    return NULL; /* and it never unlocks it */
}

static void robust(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t *mutex = block(sizeof *mutex);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(mutex, &attributes);
    join(start(robust_body, mutex));
    if (pthread_mutex_lock(mutex) != EOWNERDEAD)
        abort();
    pthread_mutex_consistent(mutex);
    pthread_mutex_unlock(mutex);
    pthread_mutex_destroy(mutex);
    free(mutex);
}

static pthread_barrier_t phase;

static void *barrier_body(void *unused)
{
    static char *slot[THREADS];
    static _Atomic int next;
    int mine = next++;
    for (int i = 0; i < 20; i++) {
        slot[mine] = block(100);
        pthread_barrier_wait(&phase);
        free(slot[(mine + 1) % THREADS]); /* another's */
        pthread_barrier_wait(&phase);
    }
    plant();
    memset(&slot[mine], 0, sizeof slot[mine]);
    return unused;
}

static void barrier(void)
{
    pthread_barrier_init(&phase, NULL, THREADS);
    crowd(barrier_body);
}

static char **once_table;
static void make_table(void) { once_table = calloc(20, sizeof *once_table); }

static void drop_table(void)
{
    for (int i = 0; i < 20; i++)
        free(once_table[i]);
    free(once_table);
    once_table = NULL;
}

static void *once_body(void *unused)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_table);
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock);
        once_table[i] = realloc(once_table[i], 16 + (size_t)i);
        pthread_mutex_unlock(&lock);
    }
    plant();
    return unused;
}

static void once(void)
{
    crowd(once_body);
    atexit(drop_table); /* _exit: it is held */
}

/* ---- what belongs to a thread ------------------------------------------------------------------ */

#define KEYS 40 /* more than libc has room for without a block of its own */

static pthread_key_t key[KEYS];

static void drop_value(void *value)
{
    plant();
    free(value);
}

static void *keys_body(void *unused)
{
    for (int i = 0; i < KEYS; i++)
        pthread_setspecific(key[i], block(24));
    return unused;
}

static void keys(void)
{
    for (int i = 0; i < KEYS; i++)
        pthread_key_create(&key[i], drop_value);
    crowd(keys_body);
    keys_body(NULL); /* of the main thread: no destructor is called for them when it returns */
}

static _Thread_local char *volatile cache[8];

static void *cache_body(void *unused)
{
    for (int i = 0; i < 8; i++)
        cache[i] = block(200);
    plant();
    stay();
    return unused;
}
static void caches(void) { crowd_that_stays(cache_body); }

static void *detached_body(void *unused)
{
    char *volatile mine = block(300);
    plant();
    stay();
    free(mine);
    return unused;
}
static void detached(void) { crowd_that_stays(detached_body); }

static void *result_body(void *unused)
{
    (void)unused;
    plant();
    return block(77);
}

static void results(void)
{
    for (int i = 0; i < 50; i++) {
        void *result;
        pthread_join(start(result_body, NULL), &result);
        free(result);
    }
}

static void *cancel_body(void *unused)
{
    char *mine = block(500);
    plant();
    pthread_cleanup_push(free, mine);
    stay();
    pthread_cleanup_pop(1);
    return unused;
}

static void cancel(void)
{
    pthread_barrier_init(&ready, NULL, 2);
    pthread_t thread = start(cancel_body, NULL);
    pthread_barrier_wait(&ready);
    pthread_cancel(thread);
    join(thread);
}

static tss_t slot;

static int c11_body(void *argument)
{
    tss_set(slot, argument);
    plant();
    return 0;
}

static void c11(void)
{
    thrd_t thread[THREADS];
    tss_create(&slot, free);
    for (int i = 0; i < THREADS; i++)
        if (thrd_create(&thread[i], c11_body, block(60)) != thrd_success)
            abort();
    for (int i = 0; i < THREADS; i++)
        thrd_join(thread[i], NULL);
}

/* ---- signals, timers, input and output ------------------------------------------------------------ */

static void *sigwait_body(void *set)
{
    int number;
    for (int i = 0; i < 3; i++) {
        sigwait(set, &number);
        char *text = strdup("a signal");
        plant();
        free(text);
        sem_post(&full);
    }
    return NULL;
}

static void signals(void)
{
    sigset_t *set = block(sizeof *set);
    sem_init(&full, 0, 0);
    sigemptyset(set);
    sigaddset(set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, set, NULL);
    pthread_t thread = start(sigwait_body, set);
    for (int i = 0; i < 3; i++) {
        pthread_kill(thread, SIGUSR1);
        sem_wait(&full); /* the same signal twice would be one */
    }
    join(thread);
    free(set);
}

static void on_timer(union sigval value)
{
    plant();
    free(block(90));
    sem_post(value.sival_ptr);
}

static void timers(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer,
                             .sigev_value.sival_ptr = &full};
    sem_init(&full, 0, 0);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer))
        abort();
    timer_settime(timer, 0, &(struct itimerspec){.it_value.tv_nsec = 1000, .it_interval.tv_nsec = 2000000},
                  NULL);
    for (int i = 0; i < 3; i++)
        sem_wait(&full);
    timer_delete(timer);
}

static void *aio_body(void *unused)
{
    char *bytes = block(4096);
    FILE *file = tmpfile();
    struct aiocb request = {.aio_fildes = fileno(file), .aio_buf = bytes, .aio_nbytes = 4096};
    const struct aiocb *list[] = {&request};
    if (aio_write(&request))
        abort();
    while (aio_error(&request) == EINPROGRESS)
        aio_suspend(list, 1, NULL);
    aio_return(&request);
    fclose(file);
    free(bytes);
    plant();
    return unused;
}
static void asynchronous(void) { crowd(aio_body); }

/* ---- what libc and the loader keep ------------------------------------------------------------------ */

static void *names_body(void *unused)
{
    struct addrinfo *found = NULL;
    struct passwd entry, *user;
    char *room = block(16384), in[] = "\303\244", out[8], *from = in, *to = out;
    size_t from_bytes = 2, to_bytes = sizeof out;
    if (getaddrinfo("localhost", "80", NULL, &found) == 0)
        freeaddrinfo(found);
    getpwuid_r(0, &entry, room, 16384, &user);
    iconv_t way = iconv_open("ISO-8859-15", "UTF-8");
    if (way != (iconv_t)-1) {
        iconv(way, &from, &from_bytes, &to, &to_bytes);
        iconv_close(way);
    }
    locale_t locale = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
    uselocale(locale);
    snprintf(room, 100, "%.3f", 1.5);
    uselocale(LC_GLOBAL_LOCALE);
    freelocale(locale);
    free(room);
    plant();
    return unused;
}
static void names(void) { crowd(names_body); }

static void *load_body(void *unused)
{
    for (int i = 0; i < 5; i++) {
        void *library = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL);
        if (!library || !dlsym(library, "ns_name_pton"))
            abort();
        dlclose(library);
    }
    plant();
    return unused;
}
static void load(void) { crowd(load_body); }

static void *fork_body(void *unused)
{
    char *mine = block(111);
    pid_t child = fork();
    if (child == 0) {
        free(mine);
        free(block(50));
        _exit(0);
    }
    waitpid(child, NULL, 0);
    free(mine);
    plant();
    return unused;
}
static void forks(void) { crowd(fork_body); }

/* ---- coroutines ---------------------------------------------------------------------------------------- */

static _Thread_local ucontext_t back, there;
static _Thread_local char *carried;

static void coroutine(void)
{
    char *mine = block(40);
    swapcontext(&there, &back);
    free(mine);
    carried = block(20);
    plant();
    swapcontext(&there, &back);
}

static void *coroutine_body(void *unused)
{
    char *stack = block(65536);
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = 65536;
    makecontext(&there, coroutine, 0);
    swapcontext(&back, &there);
    swapcontext(&back, &there);
    free(carried);
    free(stack);
    return unused;
}
static void coroutines(void) { crowd(coroutine_body); }

/* ---- which, and how it ends ------------------------------------------------------------------------------ */

static const struct program programs[] = {
    {"pool", pool}, {"semaphores", semaphores}, {"rwlock", rwlock}, {"robust", robust},
    {"barrier", barrier}, {"once", once}, {"keys", keys}, {"caches", caches},
    {"detached", detached}, {"results", results}, {"cancel", cancel}, {"c11", c11},
    {"signals", signals}, {"timers", timers}, {"asynchronous", asynchronous}, {"names", names},
    {"load", load}, {"forks", forks}, {"coroutines", coroutines},
};

static void *ender(void *unused)
{
    exit(0);
    return unused;
}

static const struct program *find(const struct program *p, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(p[i].name, name))
            return &p[i];
    return NULL;
}

static int list(void)
{
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        puts(programs[i].name);
    for (size_t i = 0; i < cxx_program_count; i++)
        puts(cxx_programs[i].name);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--list"))
        return list();
    const struct program *p = argc == 4 ? find(programs, sizeof programs / sizeof programs[0], argv[1]) : NULL;
    if (!p && argc == 4)
        p = find(cxx_programs, cxx_program_count, argv[1]);
    if (!p)
        return 2;
    is_leak = !strcmp(argv[2], "leak");
    p->run();
    scrub();
    if (!strcmp(argv[3], "worker"))
        join(start(ender, NULL));
    if (!strcmp(argv[3], "exit_now"))
        _exit(0);
    return 0;
}
