/*
 * Allocates at many sites, a block of a different size at each: stacks.py has the expected
 * callers.  Without frame pointers, through libc and the C++ library, and from libraries that are
 * loaded and unloaded, also in a forked child.
 *
 *     sites LIBRARY ANOTHER
 *
 * rtc-build: -g -fomit-frame-pointer -Wl,--build-id
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <dlfcn.h>
#include <search.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")

struct large {
    char bytes[1400];
};

extern "C" {

static void *kept[64];
static unsigned count;
static bool once;

static NOINLINE void keep(void *p)
{
    kept[count++] = p;
}

static NOINLINE int compare_of_qsort(const void *a, const void *b)
{
    if (once)
        keep(malloc(1001));
    once = false;
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

static NOINLINE void in_qsort()
{
    int value[] = {3, 1, 2, 5, 4};
    once = true;
    qsort(value, 5, sizeof value[0], compare_of_qsort);
    NO_TAIL_CALL;
}

static NOINLINE int compare_of_search(const void *a, const void *b)
{
    if (once)
        keep(malloc(1002));
    once = false;
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

static NOINLINE void in_search()
{
    int value[] = {1, 2, 3, 4, 5};
    size_t n = 5;
    once = true;
    lfind(&value[3], value, &n, sizeof value[0], compare_of_search);
    NO_TAIL_CALL;
}

static NOINLINE void in_getline()
{
    char *line = nullptr;
    size_t room = 0;
    FILE *f = fopen("/proc/self/comm", "r"); /* as short in every checkout */
    if (getdelim(&line, &room, 0, f) < 0)
        abort();
    fclose(f);
    keep(realloc(line, 1003));
}

static NOINLINE void in_map()
{
    auto *map = new std::map<int, large>;
    (*map)[1].bytes[0] = 1;
    keep(map);
}

static NOINLINE bool less_of_sort(int a, int b)
{
    if (once)
        keep(malloc(1005));
    once = false;
    return a < b;
}

static NOINLINE void in_sort()
{
    int value[40];
    for (int i = 0; i < 40; i++)
        value[i] = i * 7 % 40;
    once = true;
    std::sort(value, value + 40, less_of_sort);
    NO_TAIL_CALL;
}

static NOINLINE void in_string()
{
    auto *s = new std::string;
    s->reserve(1005); // and a NUL
    keep(s);
}

static NOINLINE void *makes(size_t bytes)
{
    void *volatile p = malloc(bytes);
    return p;
}

static NOINLINE void drops(void *p)
{
    free(p);
    NO_TAIL_CALL;
}

static NOINLINE void in_drop()
{
    drops(makes(3001));
    NO_TAIL_CALL;
}

typedef void *keeper(size_t bytes);
typedef void dropper(size_t bytes);

struct library {
    void *handle, *base;
};

static NOINLINE void *find(const library &l, const char *name)
{
    void *f = dlsym(l.handle, name);
    if (!f)
        abort();
    return f;
}

static NOINLINE library open_library(const char *path, const char *name)
{
    library l = {dlopen(path, RTLD_NOW), nullptr};
    Dl_info where;
    if (!l.handle || !dladdr(find(l, name), &where))
        abort();
    l.base = where.dli_fbase;
    return l;
}

static NOINLINE void call_keeper(const library &l, const char *name, size_t bytes)
{
    keep(reinterpret_cast<keeper *>(find(l, name))(bytes));
}

static NOINLINE void call_dropper(const library &l, size_t bytes)
{
    reinterpret_cast<dropper *>(find(l, "one_drops"))(bytes);
    NO_TAIL_CALL;
}

static NOINLINE void in_child(const library &one, const char *path_of_two)
{
    call_keeper(one, "one_keeps", 2004);
    dlclose(one.handle);
    library two = open_library(path_of_two, "two_keeps");
    call_keeper(two, "two_keeps", 2005);
    exit(one.base != two.base);
}

static NOINLINE int in_libraries(char **path)
{
    library one = open_library(path[1], "one_keeps");
    call_keeper(one, "one_keeps", 2001);
    call_dropper(one, 3002);
    dlclose(one.handle);
    library two = open_library(path[2], "two_keeps");
    call_keeper(two, "two_keeps", 2002);
    dlclose(two.handle);
    library again = open_library(path[1], "one_keeps");
    call_keeper(again, "one_keeps", 2003);
    int status = 1;
    pid_t child = fork();
    if (!child)
        in_child(again, path[2]);
    waitpid(child, &status, 0);
    return status || one.base != two.base || one.base != again.base;
}

} // extern "C"

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    in_qsort();
    in_search();
    in_getline();
    in_map();
    in_sort();
    in_string();
    in_drop();
    int elsewhere = in_libraries(argv);
    puts(elsewhere ? "another place" : "the same place");
    return elsewhere;
}
