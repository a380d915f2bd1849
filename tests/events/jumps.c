/*
 * jumps.c - signal handlers that leave what changes the address space by siglongjmp, and callbacks; and threads that
 * end in one, which is forbidden.
 *
 *     jumps [ROW...]        with between.so behind the runtime; JUMPS_EVERY: behind every so-manieth instruction
 *
 * rtc-build: -ldl -pthread
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "../unit/step.h"
#include "alone.h"
#include "rtcheck/event.h"

#define PAGE 4096u

static void (**between_us)(void); /* called once inside mmap or munmap */
static sigjmp_buf back;

static void *map(void)
{
    return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void handle(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    must(sigaction(SIGUSR1, &action, NULL) == 0);
}

static void signal_now(void)
{
    *between_us = NULL;
    raise(SIGUSR1);
}

static void jump(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

/* The number of ranges that differ from the map, after one unseen mapping. */
static long compared(void)
{
    must(syscall(SYS_mmap, NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != -1);
    return rtc_event_compare();
}

static void begin(void)
{
    between_us = dlsym(RTLD_DEFAULT, "between_us");
    must(between_us);
    must(munmap(map(), PAGE) == 0 && rtc_event_compare() >= 0 && compared() == 1);
}

/* ---- calls that are left ------------------------------------------------------------------------------ */

static void out_of_mmap(void)
{
    handle(jump, 0);
    for (volatile int i = 0; i < 3; i++) {
        *between_us = signal_now;
        if (sigsetjmp(back, 1) == 0) {
            map();
            must(!"it came back");
        }
        must(compared() == 1);
    }
    must(munmap(map(), PAGE) == 0 && compared() == 1);
}

/* The range was about to be unmapped; it is still mapped, and found by the comparison. */
static void out_of_munmap(void)
{
    void *at = map();
    handle(jump, 0);
    *between_us = signal_now;
    if (sigsetjmp(back, 1) == 0) {
        munmap(at, PAGE);
        must(!"it came back");
    }
    must(rtc_event_compare() == 1 && compared() == 1);
}

static void jump_within(int signal)
{
    sigjmp_buf here;
    (void)signal;
    if (sigsetjmp(here, 1) == 0)
        siglongjmp(here, 1);
    must(munmap(map(), PAGE) == 0 && compared() == -EAGAIN);
}

/* A handler that jumps within itself, and returns: the interrupted call continues. */
static void not_out_of_it(void)
{
    handle(jump_within, 0);
    *between_us = signal_now;
    must(map() != MAP_FAILED && rtc_event_compare() >= 1 && compared() == 1);
}

/* ---- behind each instruction --------------------------------------------------------------------------- */

static volatile long steps_left;

static void jump_at_last(int signal)
{
    (void)signal;
    if (steps_left-- == 0)
        siglongjmp(back, 1);
}

/* `run` is left after the n-th instruction, for each tested n; `look` checks the state after that. */
static void leave_everywhere(void (*set)(void), void (*run)(void), void (*look)(void))
{
    long every = atol(getenv("JUMPS_EVERY") ? getenv("JUMPS_EVERY") : "61");
    struct sigaction action = {.sa_handler = jump_at_last, .sa_flags = SA_NODEFER};
    must(sigaction(SIGTRAP, &action, NULL) == 0);
    for (volatile long n = 0;; n += every) {
        set();
        bool left = sigsetjmp(back, 0);
        if (!left) {
            steps_left = n;
            steps_begin();
            run();
            steps_end();
        }
        look();
        if (!left)
            break;
    }
}

static void map_and_unmap(void)
{
    void *at = map();
    if (at != MAP_FAILED)
        munmap(at, PAGE);
}

static void look_at_map(void)
{
    must(rtc_event_compare() >= 0 && compared() == 1);
}

static void set_nothing(void)
{
}

static void everywhere(void)
{
    leave_everywhere(set_nothing, map_and_unmap, look_at_map);
}

/* ---- visits --------------------------------------------------------------------------------------------- */

#define EVENTS (RTC_EVENT_MMAP | RTC_EVENT_MUNMAP)
#define RANGES (RTC_EVENT_VM_MAPPED | RTC_EVENT_VM_UNMAPPED)

static volatile int notified, raises;

static void count(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)e, (void)arg;
    notified++;
    if (raises && !--raises)
        raise(SIGUSR1);
}

/* A thread that jumped out of a callback still gets events, and no other thread waits for it. */
static void look_at_visits(void)
{
    notified = 0;
    must(munmap(map(), PAGE) == 0 && notified == 2);
    must(rtc_event_unset_handler(~0u, count, NULL) == 0);
    must(munmap(map(), PAGE) == 0 && notified == 2);
}

static void out_of_callback(void)
{
    unsigned sets[] = {EVENTS, RANGES};
    handle(jump, 0);
    for (volatile int i = 0; i < 6; i++) {
        must(rtc_event_set_handler(sets[i / 3], 0, count, NULL) == 0);
        raises = i % 3;
        if (sigsetjmp(back, 1) == 0) {
            munmap(map(), PAGE);
            must(i % 3 == 0);
        }
        look_at_visits();
    }
}

static void nest(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)e, (void)arg;
    raises = 1;
    if (sigsetjmp(back, 1) == 0)
        map();
    must(rtc_event_unset_handler(~0u, nest, NULL) == -EDEADLK);
    must(raises == 0 && munmap(map(), PAGE) == 0);
}

/* With two nested callbacks, a jump out of the inner one only. */
static void out_of_inner_callback(void)
{
    handle(jump, 0);
    must(rtc_event_set_handler(EVENTS, 0, nest, NULL) == 0 &&
         rtc_event_set_handler(EVENTS, 0, count, NULL) == 0);
    notified = 0;
    must(munmap(map(), PAGE) == 0);
    must(notified == 8); /* two calls, and three for each */
    must(rtc_event_unset_handler(~0u, nest, NULL) == 0);
    look_at_visits();
}

static void look_at_all(void)
{
    look_at_map();
    look_at_visits();
}

static void set_ranges(void)
{
    must(rtc_event_set_handler(RANGES, 0, count, NULL) == 0);
}

static void set_events(void)
{
    must(rtc_event_set_handler(EVENTS, 0, count, NULL) == 0);
}

static void everywhere_notified(void)
{
    leave_everywhere(set_events, map_and_unmap, look_at_all);
}

static void everywhere_notified_ranges(void)
{
    leave_everywhere(set_ranges, map_and_unmap, look_at_all);
}

/* ---- forbidden calls -------------------------------------------------------------------------------------- */

static pthread_key_t ending;
static volatile bool ends;

static void end_here(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)e, (void)arg;
    if (ends) {
        ends = false;
        pthread_exit(NULL);
    }
}

/* Overwrite the stack of the thread. */
static void scribble(void *value)
{
    volatile char room[32 * PAGE];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 'A';
    (void)value;
}

static __attribute__((noinline)) void map_deeply(void)
{
    volatile char room[8 * PAGE];
    room[0] = 0;
    map();
    (void)room[0];
}

static void map_and_unmap_at_last(void *value)
{
    must(value && munmap(map(), PAGE) == 0);
}

static void *map_and_end(void *value)
{
    must(pthread_setspecific(ending, value) == 0);
    ends = true;
    pthread_cleanup_push(scribble, NULL);
    map_deeply();
    pthread_cleanup_pop(0);
    must(!"it came back");
    return NULL;
}

static void end_in_callback(unsigned set, int notified_then)
{
    pthread_t thread;
    must(rtc_event_set_handler(set, 0, end_here, NULL) == 0 &&
         rtc_event_set_handler(set, 1, count, NULL) == 0);
    notified = 0;
    must(pthread_create(&thread, NULL, map_and_end, &ending) == 0 &&
         pthread_join(thread, NULL) == 0);
    must(notified >= notified_then);
    must(rtc_event_unset_handler(~0u, end_here, NULL) == 0);
    look_at_visits();
}

static void out_of_thread(void)
{
    must(pthread_key_create(&ending, map_and_unmap_at_last) == 0);
    for (int i = 0; i < 3; i++) {
        end_in_callback(RANGES, 2);
        end_in_callback(EVENTS, 2);
    }
    must(rtc_event_compare() >= 0 && compared() == 1);
}

/* ---- stacks ------------------------------------------------------------------------------------------- */

#define STACK_BYTES (64u << 10)

static void map_and_be_left(int signal)
{
    (void)signal;
    handle(jump, SA_ONSTACK | SA_NODEFER);
    *between_us = signal_now;
    map();
    must(!"it came back");
}

static void leave_alternate(char *at)
{
    stack_t stack = {.ss_sp = at, .ss_size = STACK_BYTES};
    must(sigaltstack(&stack, NULL) == 0);
    handle(map_and_be_left, SA_ONSTACK | SA_NODEFER);
    if (sigsetjmp(back, 1) == 0)
        raise(SIGUSR1);
    must(compared() == 1);
}

/* For alternate stacks below and above the target of the jump. */
static void out_of_alternate_stacks(void)
{
    static char below[STACK_BYTES];
    char above[STACK_BYTES];
    leave_alternate(below);
    leave_alternate(above);
}

static void jump_on_alternate(int signal)
{
    handle(jump, SA_ONSTACK | SA_NODEFER);
    if (sigsetjmp(back, 1) == 0)
        raise(signal);
    must(compared() == -EAGAIN);
}

/* A jump from there to there ends nothing on the other stack. */
static void not_out_of_alternate_stack(void)
{
    char above[STACK_BYTES];
    stack_t stack = {.ss_sp = above, .ss_size = STACK_BYTES};
    must(sigaltstack(&stack, NULL) == 0);
    handle(jump_on_alternate, SA_ONSTACK | SA_NODEFER);
    *between_us = signal_now;
    must(map() != MAP_FAILED && rtc_event_compare() >= 1 && compared() == 1);
}

static sigjmp_buf other;

static void switch_to_other(void)
{
    *between_us = NULL;
    if (sigsetjmp(back, 0) == 0)
        siglongjmp(other, 1);
}

static void map_and_switch(void)
{
    *between_us = switch_to_other;
    must(map() != MAP_FAILED);
    siglongjmp(other, 2);
}

/* User-level threads: one that maps is left by a jump, and resumed later. */
static void switched(void)
{
    static ucontext_t context;
    char *at = mmap(NULL, STACK_BYTES + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(at != MAP_FAILED && mprotect(at, STACK_BYTES, PROT_READ | PROT_WRITE) == 0 &&
         compared() == 1);
    must(getcontext(&context) == 0);
    context.uc_stack = (stack_t){.ss_sp = at, .ss_size = STACK_BYTES};
    makecontext(&context, map_and_switch, 0);
    int times = sigsetjmp(other, 0);
    if (times == 0)
        setcontext(&context);
    if (times == 1) {
        must(compared() == -EAGAIN);
        siglongjmp(back, 1);
    }
    must(rtc_event_compare() >= 1 && compared() == 1);
}

static const struct row rows[] = {
    {"out_of_mmap", out_of_mmap},
    {"out_of_munmap", out_of_munmap},
    {"not_out_of_it", not_out_of_it},
    {"everywhere", everywhere},
    {"out_of_callback", out_of_callback},
    {"out_of_inner_callback", out_of_inner_callback},
    {"everywhere_told", everywhere_notified},
    {"everywhere_told_ranges", everywhere_notified_ranges},
    {"out_of_thread", out_of_thread},
    {"out_of_alternate_stacks", out_of_alternate_stacks},
    {"not_out_of_alternate_stack", not_out_of_alternate_stack},
    {"switched", switched},
};

int main(int argc, char **argv)
{
    const struct rows all = {rows, sizeof rows / sizeof rows[0], 300, begin};
    return rows_main(&all, rtc_event_compare, argc, argv);
}
