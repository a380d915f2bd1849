/*
 * full_cxx.cc - exceptions, cancellation and backtraces through copies of code: full_cxx behave CASE;
 * full_cxx crime|twin CASE; full_cxx list.
 *
 * Functions with handlers or cleanups run their own code; those that they call, and that call them, are
 * copies.  The line of a crime has a comment: @ CASE, the code of the error, its bytes and its count.
 * full_cxx.py reads them, and compiles this file with other compilers and options, too.
 *
 * rtc-build: -O1 -g -pthread -rdynamic -fno-optimize-sibling-calls -U_FORTIFY_SOURCE
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef __clang__
#define NOINLINE __attribute__((noinline, used))
#else
#define NOINLINE __attribute__((noipa, used))
#endif

namespace
{

struct noisy {
    const char *name;
    ~noisy()
    {
        std::printf("~%s\n", name);
    }
};

struct own_error {
    int value;
};

} // namespace

/* Copies have the C name, so that stacks are easy to compare. */
extern "C" {

/* All registers that a function must preserve are changed, and restored from its frame. */
NOINLINE int thrower(const int *p, int n)
{
    __asm__ volatile(
        "xor %%ebx, %%ebx; mov $1, %%r12; mov $2, %%r13; mov $3, %%r14; mov $4, %%r15" ::
            : "rbx", "r12", "r13", "r14", "r15");
    if (*p + n > 3)
        throw own_error{*p + n};
    return *p + n;
}

NOINLINE int middle(const int *p, int n)
{
    int all = 0;

    for (int i = 0; i < n; i++)
        all += thrower(p, i);
    return all;
}

/* Its frame is found by an expression: the stack is realigned, and of a size that is not known. */
NOINLINE int aligned_middle(const int *p, int n)
{
    alignas(64) volatile char aligned[64];
    volatile char *some =
        static_cast<volatile char *>(__builtin_alloca(static_cast<size_t>(n) * 16 + 1));

    aligned[n] = 1;
    some[n] = 2;
    return middle(p, n) + aligned[n] + some[n];
}

NOINLINE int deep(const int *p, int depth)
{
    return depth == 0 ? aligned_middle(p, 9) : deep(p, depth - 1) + 1;
}
}

NOINLINE static int with_cleanup(const int *p, int n)
{
    noisy last{"with_cleanup"};

    return middle(p, n) + 1;
}

static const int zero = 0;
static const int *const one = new int(1);

/* ---- behaviour: exceptions ------------------------------------------------------------------- */

static void leaf()
{
    for (int n = 0; n < 6; n++)
        try {
            std::printf("%d\n", with_cleanup(one, n));
        } catch (const own_error &e) {
            std::printf("caught %d\n", e.value);
        }
}

NOINLINE static int calls_deep(const int *p, int depth)
{
    return deep(p, depth) * 2;
}

static void nested()
{
    for (int depth = 0; depth < 300; depth += 99)
        try {
            try {
                calls_deep(one, depth);
            } catch (const std::string &) {
                std::puts("no");
            }
        } catch (const own_error &e) {
            std::printf("%d at %d\n", e.value, depth);
        }
}

NOINLINE static void again(const int *p)
{
    try {
        middle(p, 7);
    } catch (own_error &e) {
        e.value += 100;
        throw;
    }
}

static void rethrow()
{
    try {
        again(one);
    } catch (const own_error &e) {
        std::printf("%d\n", e.value);
    }
}

NOINLINE static int must_not(const int *p) noexcept
{
    return with_cleanup(p, 9);
}

static void no_except()
{
    std::printf("%d\n", must_not(one));
}

static void uncaught()
{
    std::printf("%d\n", middle(one, 9));
}

static int by_value(const void *a, const void *b)
{
    int x = *static_cast<const int *>(a), y = *static_cast<const int *>(b);

    if (x == 17 || y == 17)
        throw std::runtime_error("seventeen");
    return (x > y) - (x < y);
}

static void callbacks()
{
    std::vector<int> v(100);

    for (int n = 0; n < 100; n++)
        v[static_cast<size_t>(n)] = n * 37 % 101;
    try {
        qsort(v.data(), v.size(), sizeof(int), by_value);
    } catch (const std::runtime_error &e) {
        std::puts(e.what());
    }
    try {
        std::sort(v.begin(), v.end(), [](int a, int b) { return by_value(&a, &b) < 0; });
    } catch (const std::runtime_error &e) {
        std::puts(e.what());
    }
}

/* Values in registers that callees preserve, before and after an exception. */
NOINLINE static long preserved(const int *p, long a, long b, long c, long d, long e)
{
    long all = 0;

    for (int n = 2; n < 8; n++) {
        a += n, b ^= a, c -= b, d += c * 3, e ^= d;
        try {
            all += middle(p, n);
        } catch (const own_error &error) {
            all += error.value * 1000 + a + b + c + d + e;
        }
        all = all * 31 + a - b + c - d + e;
    }
    return all;
}

static void registers()
{
    std::printf("%ld\n", preserved(one, 1, 2, 3, 4, 5));
}

static void *throw_in_thread(void *about)
{
    try {
        calls_deep(static_cast<const int *>(about), 9);
    } catch (const own_error &) {
        return new std::exception_ptr(std::current_exception());
    }
    return nullptr;
}

static void threads()
{
    pthread_t thread[4];

    for (auto &t : thread)
        pthread_create(&t, nullptr, throw_in_thread, new int(1));
    for (auto &t : thread) {
        void *result;
        pthread_join(t, &result);
        try {
            std::rethrow_exception(*static_cast<std::exception_ptr *>(result));
        } catch (const own_error &e) {
            std::printf("from a thread: %d\n", e.value);
        }
    }
}

static void libraries()
{
    void *first = dlopen(std::getenv("FULL_FIRST"), RTLD_NOW | RTLD_GLOBAL);
    auto call =
        reinterpret_cast<int (*)(int (*)(int), int)>(first ? dlsym(first, "call") : nullptr);
    auto thrown = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "throw_it"));

    if (!call || !thrown)
        std::puts("no library");
    else
        try {
            std::printf("%d\n", call(thrown, 1));
            std::printf("%d\n", call(thrown, 9));
        } catch (const std::out_of_range &e) {
            std::printf("%s\n", e.what());
        }
}

/* ---- behaviour: threads that end ----------------------------------------------------------------- */

static sem_t ready, never;

static void print(void *text)
{
    std::puts(static_cast<const char *>(text));
}

extern "C" {
NOINLINE int waits(const int *p)
{
    sem_post(&ready);
    sem_wait(&never);
    return *p;
}

NOINLINE int leaves(const int *p)
{
    pthread_exit(const_cast<int *>(p));
    return *p;
}

NOINLINE int in_a_frame(int (*f)(const int *), const int *p)
{
    return f(p) + *p;
}
}

NOINLINE static int destroyed(int (*f)(const int *), const int *p)
{
    noisy last{"destroyed"};

    return in_a_frame(f, p) + 1;
}

NOINLINE static int caught_by_all(int (*f)(const int *), const int *p)
{
    try {
        return destroyed(f, p) + 1;
    } catch (...) {
        std::puts("catch (...)");
        throw;
    }
}

static void *cancelled(void *about)
{
    pthread_cleanup_push(print, const_cast<char *>("cleanup"));
    caught_by_all(waits, static_cast<const int *>(about));
    pthread_cleanup_pop(0);
    return nullptr;
}

static void *exits(void *about)
{
    pthread_cleanup_push(print, const_cast<char *>("cleanup"));
    caught_by_all(leaves, static_cast<const int *>(about));
    pthread_cleanup_pop(0);
    return nullptr;
}

static void cancel()
{
    pthread_t thread;
    void *result;

    sem_init(&ready, 0, 0);
    sem_init(&never, 0, 0);
    pthread_create(&thread, nullptr, cancelled, const_cast<int *>(one));
    sem_wait(&ready);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    std::puts(result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
}

static void exit_thread()
{
    pthread_t thread;
    void *result;

    pthread_create(&thread, nullptr, exits, const_cast<int *>(one));
    pthread_join(thread, &result);
    std::puts(result == one ? "its result" : "another result");
}

/* ---- behaviour: stacks --------------------------------------------------------------------------- */

static void print_name(const void *at, bool is_exact)
{
    Dl_info about;

    if (dladdr(at, &about) && about.dli_sname)
        std::printf("%s+%td\n", about.dli_sname,
                    is_exact ? static_cast<const char *>(at) - static_cast<char *>(about.dli_saddr)
                             : 0);
}

extern "C" {
NOINLINE int stack_by_libc(void (*print_it)(const void *, bool), int room)
{
    void *at[200];
    int count = backtrace(at, room);

    for (int n = 0; n < count; n++)
        print_it(at[n], true);
    std::printf("%d\n", count);
    return count;
}

NOINLINE int stack_of(int depth, int room)
{
    return depth == 0 ? stack_by_libc(print_name, room) : stack_of(depth - 1, room) + 1;
}

NOINLINE int own_return(const int *p)
{
    print_name(__builtin_return_address(0), true);
    return *p;
}

/* The call is the last instruction. */
NOINLINE void ends(int status)
{
    stack_of(1, 100);
    std::exit(status);
}

NOINLINE void last_call(int status)
{
    if (status > 100)
        std::puts("more");
    ends(status);
    __builtin_unreachable();
}
}

static void stacks()
{
    for (int room : {100, 10, 5, 2, 1, 0, 200})
        std::printf("%d\n", stack_of(5, room));
    std::printf("%d\n", own_return(&zero));
    char **names = nullptr;
    void *at[4];
    int count = backtrace(at, 4);
    names = backtrace_symbols(at, count);
    std::puts(names && std::strchr(names[0], '(') ? "names" : "no names");
    std::free(names);
}

static void last()
{
    last_call(5);
}

/* libunwind, which finds descriptions by dl_iterate_phdr.  This function runs its own code. */
NOINLINE static int stack_by_libunwind()
{
    void *lib = dlopen("libunwind.so.8", RTLD_NOW);
    auto get = reinterpret_cast<int (*)(void *)>(lib ? dlsym(lib, "_Ux86_64_getcontext") : nullptr);
    auto init = reinterpret_cast<int (*)(void *, void *)>(lib ? dlsym(lib, "_ULx86_64_init_local")
                                                              : nullptr);
    auto step = reinterpret_cast<int (*)(void *)>(lib ? dlsym(lib, "_ULx86_64_step") : nullptr);
    auto reg = reinterpret_cast<int (*)(void *, int, unsigned long *)>(
        lib ? dlsym(lib, "_ULx86_64_get_reg") : nullptr);
    unsigned long context[200], cursor[200], pc;
    int count = 0;

    if (!get || !init || !step || !reg || get(context) || init(cursor, context))
        return std::puts("no libunwind");
    while (step(cursor) > 0) {
        reg(cursor, 16, &pc);
        print_name(reinterpret_cast<void *>(pc), false);
        count++;
    }
    return count;
}

extern "C" NOINLINE int calls_libunwind(const int *p, int depth)
{
    return depth == 0 ? stack_by_libunwind() + *p : calls_libunwind(p, depth - 1);
}

static void libunwind()
{
    std::printf("%d\n", calls_libunwind(&zero, 5));
}

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *, void *count)
{
    ++*static_cast<int *>(count);
    return _URC_NO_REASON;
}

extern "C" NOINLINE int stack_by_libgcc(int depth)
{
    int count = 0;

    if (depth > 0)
        return stack_by_libgcc(depth - 1) + 1;
    _Unwind_Backtrace(count_frame, &count);
    return count;
}

static void libgcc()
{
    std::printf("%d\n", stack_by_libgcc(7));
}

/* The program sees loaded objects only. */
static int note_object(struct dl_phdr_info *info, size_t, void *)
{
    if (!*info->dlpi_name ||
        (*info->dlpi_name != '/' && std::strncmp(info->dlpi_name, "linux-vdso", 10) != 0))
        std::printf("object %s\n", info->dlpi_name);
    return 0;
}

static void objects()
{
    std::printf("%d\n", dl_iterate_phdr(note_object, nullptr));
}

/* ---- crimes -------------------------------------------------------------------------------------- */

static bool is_crime; /* else its twin */
static int past;

#define AT(p, n) (*const_cast<volatile int *>((p) + (n)))

extern "C" {
NOINLINE int read_past(const int *p)
{
    return AT(p, past); /* @read_past rua 4 1 */
}

NOINLINE void write_past(int *p)
{
    AT(p, past) = 1; /* @write_past wua 4 1 */
}

NOINLINE int read_and_throw(const int *p)
{
    int value = AT(p, past); /* @read_and_throw rua 4 3 */

    if (value != 12345)
        throw own_error{value};
    return value;
}

NOINLINE int read_freed(const int *p)
{
    return AT(p, 2); /* @read_freed rua 4 1 */
}
}

struct shape {
    int sides[4] = {};
    virtual ~shape() = default;
    virtual int side(int n) const
    {
        return sides[n];
    }
};

struct square : shape {
    int more = 1;
    NOINLINE int side(int n) const override
    {
        return AT(&more, n); /* @square::side rua 4 1 */
    }
};

static void commit()
{
    int *p = new int[4]();
    shape *s = new square();

    past = is_crime ? 4 : 3;
    read_past(p);
    write_past(p);
    for (volatile int n = 0; n < 3; n = n + 1)
        try {
            read_and_throw(p);
        } catch (const own_error &) {
        }
    s->side(is_crime ? 2 : 0);
    if (is_crime)
        delete[] p;
    read_freed(p);
    if (!is_crime)
        delete[] p;
    delete s;
    std::puts("done");
}

/* ---- */

static const struct {
    const char *name;
    void (*run)();
} behaviours[] = {
    {"leaf", leaf},           {"nested", nested},           {"rethrow", rethrow},
    {"no_except", no_except}, {"uncaught", uncaught},       {"callbacks", callbacks},
    {"registers", registers}, {"threads", threads},         {"libraries", libraries},
    {"cancel", cancel},       {"exit_thread", exit_thread}, {"stacks", stacks},
    {"last", last},           {"libunwind", libunwind},     {"libgcc", libgcc},
    {"objects", objects},
};

int main(int argc, char **argv)
{
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    if (argc < 2 || std::strcmp(argv[1], "list") == 0)
        for (const auto &b : behaviours)
            std::puts(b.name);
    else if (std::strcmp(argv[1], "behave") != 0) {
        is_crime = std::strcmp(argv[1], "crime") == 0;
        commit();
    }
    for (const auto &b : behaviours)
        if (argc > 2 && std::strcmp(b.name, argv[2]) == 0)
            b.run();
    return 0;
}
