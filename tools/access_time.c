/*
 * access_time.c - with --access=full: whose code ran while the program was sampled, for the report.
 *
 * Copies are mapped from plans, so their samples are in files of this name.  Other samples are of native code;
 * of objects that have copies, they are counted by function.  Names are read in a child process: whatever
 * happens there, the shares are known.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools.h"
#include "translate.h"

static bool is_plan_path(const char *path)
{
    size_t bytes = strlen(path);

    return bytes > sizeof ".plan" && strcmp(path + bytes + 1 - sizeof ".plan", ".plan") == 0;
}

static uint64_t *sum_of(struct access_time *t, const struct report *r, const char *path)
{
    return is_plan_path(path)           ? &t->copies
           : report_is_checked(r, path) ? &t->native
                                        : &t->elsewhere;
}

/* ---- functions ------------------------------------------------------------------------------- */

struct hot {
    const char *name; /* NULL: not known */
    uint64_t samples;
};

static int by_name(const void *a_, const void *b_)
{
    const struct hot *a = a_, *b = b_;

    return a->name < b->name ? -1 : a->name > b->name;
}

static void hottest_add(struct access_time *t, const struct hot *h, const char *object)
{
    uint32_t at = ACCESS_TIME_HOTTEST;
    char *plain = h->name ? report_demangle(h->name, true) : NULL;

    while (at > 0 && t->hottest[at - 1].samples < h->samples)
        at--;
    if (at < ACCESS_TIME_HOTTEST) {
        struct access_hot *to = &t->hottest[at];
        memmove(to + 1, to, (ACCESS_TIME_HOTTEST - 1 - at) * sizeof *to);
        *to = (struct access_hot){.samples = h->samples};
        snprintf(to->function, sizeof to->function, "%s",
                 plain     ? plain
                 : h->name ? h->name
                           : "unknown function");
        snprintf(to->object, sizeof to->object, "%s", object);
    }
    free(plain);
}

/* The rows of one object. */
static void object_add(struct access_time *t, const struct sample_row *rows, size_t count)
{
    struct hot *hot = calloc(count, sizeof *hot);
    struct code_symbols symbols;
    size_t kept = 0;

    code_symbols_read(&symbols, rows[0].path);
    for (size_t i = 0; hot && i < count; i++)
        hot[i] = (struct hot){code_symbol_name(&symbols, code_address(&symbols, rows[i].offset)),
                              rows[i].samples};
    if (hot)
        qsort(hot, count, sizeof *hot, by_name);
    for (size_t i = 1; hot && i < count; i++)
        if (hot[i].name == hot[kept].name)
            hot[kept].samples += hot[i].samples;
        else
            hot[++kept] = hot[i];
    for (size_t i = 0; hot && i <= kept; i++)
        hottest_add(t, &hot[i], rows[0].path);
    free(hot);
    code_symbols_free(&symbols);
}

static void find_hottest(struct access_time *t, const struct report *r,
                         const struct sample_row *rows, size_t count)
{
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && rows[end].path == rows[i].path; end++)
            ;
        if (sum_of(t, r, rows[i].path) == &t->native)
            object_add(t, rows + i, end - i);
    }
}

void access_time_make(struct access_time *out, const struct report *r,
                      const struct sample_row *rows, size_t count)
{
    struct access_time *t =
        mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;

    *out = (struct access_time){0};
    for (size_t i = 0; i < count; i++)
        *sum_of(out, r, rows[i].path) += rows[i].samples;
    if (t == MAP_FAILED)
        return;
    pid_t child = out->native > 0 ? fork() : -1;
    if (child == 0) {
        find_hottest(t, r, rows, count);
        _exit(0);
    }
    if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && !status)
        memcpy(out->hottest, t->hottest, sizeof out->hottest);
    munmap(t, sizeof *t);
}
