/*
 * threads_libc.c - those programs of threads.c that test libc's own data of threads.
 */
#include "threads.h"

#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
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

/* ---- data of a thread -------------------------------------------------------------------------- */

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

#define KEYS 40 /* more than libc stores without a separate block */

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
static void caches(void)
{
    crowd_that_stays(cache_body);
}

static void *detached_body(void *unused)
{
    char *volatile own = block(300);
    plant();
    stay();
    free(own);
    return unused;
}
static void detached(void)
{
    crowd_that_stays(detached_body);
}

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
    char *own = block(500);
    plant();
    pthread_cleanup_push(free, own);
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

static sem_t done;

static void *sigwait_body(void *set)
{
    int number;
    for (int i = 0; i < 3; i++) {
        sigwait(set, &number);
        char *text = strdup("a signal");
        plant();
        free(text);
        sem_post(&done);
    }
    return NULL;
}

static void signals(void)
{
    sigset_t *set = block(sizeof *set);
    sem_init(&done, 0, 0);
    sigemptyset(set);
    sigaddset(set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, set, NULL);
    pthread_t thread = start(sigwait_body, set);
    for (int i = 0; i < 3; i++) {
        pthread_kill(thread, SIGUSR1);
        sem_wait(&done); /* the same signal twice would be one */
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
    struct sigevent event = {.sigev_notify = SIGEV_THREAD,
                             .sigev_notify_function = on_timer,
                             .sigev_value.sival_ptr = &done};
    sem_init(&done, 0, 0);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer))
        abort();
    timer_settime(timer, 0,
                  &(struct itimerspec){.it_value.tv_nsec = 1000, .it_interval.tv_nsec = 2000000},
                  NULL);
    for (int i = 0; i < 3; i++)
        sem_wait(&done);
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
static void asynchronous(void)
{
    crowd(aio_body);
}

/* ---- data of libc and the loader -------------------------------------------------------------------- */

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
static void names(void)
{
    crowd(names_body);
}

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
static void load(void)
{
    crowd(load_body);
}

static void *fork_body(void *unused)
{
    char *own = block(111);
    pid_t child = fork();
    if (child == 0) {
        free(own);
        free(block(50));
        _exit(0);
    }
    waitpid(child, NULL, 0);
    free(own);
    plant();
    return unused;
}
static void forks(void)
{
    crowd(fork_body);
}

/* ---- coroutines ---------------------------------------------------------------------------------------- */

static _Thread_local ucontext_t back, there;
static _Thread_local char *carried;

static void coroutine(void)
{
    char *own = block(40);
    swapcontext(&there, &back);
    free(own);
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
static void coroutines(void)
{
    crowd(coroutine_body);
}

const struct program libc_programs[] = {
    /* clang-format off */
    {"keys", keys}, {"caches", caches}, {"detached", detached}, {"results", results},
    {"cancel", cancel}, {"c11", c11}, {"signals", signals}, {"timers", timers},
    {"asynchronous", asynchronous}, {"names", names}, {"load", load}, {"forks", forks},
    {"coroutines", coroutines},
    {NULL, NULL},
    /* clang-format on */
};
