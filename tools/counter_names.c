/*
 * counter_names.c - from the name of an event to what the kernel wants to hear.
 *
 * NAME, or NAME:u and NAME:k for what is done in user mode, or in the kernel, alone.  Our own tables come
 * first, so that a name is the same event as for a program by rtcheck/cpc.h; then libpfm4's.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "counters_priv.h"
#include "rtcheck/bits.h"

static const char *const source_names[] = {
#define SOURCE(id, text) text,
#include "rtcheck/counters.def"
};

const char *source_name(enum source source)
{
    return source_names[source];
}

static const struct known {
    const char *name;
    struct event event;
} known[] = {
#define SOFTWARE(word, number, ...)                                                                 \
    {word, {SOURCE_SOFTWARE, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_##number, __VA_ARGS__}},
#define HARDWARE(word, number) \
    {word, {SOURCE_HARDWARE, .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_##number}},
#define CLOCK(word, number) {word, {SOURCE_##number, .in_both = true}},
#include "rtcheck/counters.def"
};

static const struct {
    const char *name;
    uint32_t id;
} caches[] = {
#define CACHE(name, id) {name, PERF_COUNT_HW_CACHE_##id},
#include "rtcheck/counters.def"
};

static const struct {
    const char *name;
    uint32_t id, result;
} operations[] = {
#define OPERATION(name, operation, result) \
    {name, PERF_COUNT_HW_CACHE_OP_##operation, PERF_COUNT_HW_CACHE_RESULT_##result},
#include "rtcheck/counters.def"
};

static bool find_known(const char *name, struct event *e)
{
    for (size_t i = 0; i < countof(known); i++)
        if (strcmp(known[i].name, name) == 0) {
            *e = known[i].event;
            return true;
        }
    return false;
}

static bool find_cache(const char *name, struct event *e)
{
    for (size_t i = 0; i < countof(caches); i++) {
        size_t n = strlen(caches[i].name);
        for (size_t k = 0; strncmp(name, caches[i].name, n) == 0 && k < countof(operations); k++)
            if (strcmp(name + n, operations[k].name) == 0) {
                *e = (struct event){SOURCE_HARDWARE, .type = PERF_TYPE_HW_CACHE,
                                    .config = caches[i].id | operations[k].id << 8 | operations[k].result << 16};
                return true;
            }
    }
    return false;
}

static bool find_raw(const char *name, struct event *e)
{
    size_t digits = name[0] == 'r' ? strspn(name + 1, "0123456789abcdefABCDEF") : 0;
    *e = (struct event){SOURCE_HARDWARE, .type = PERF_TYPE_RAW};
    if (digits == 0 || digits > 16 || name[1 + digits])
        return false;
    e->config = strtoull(name + 1, NULL, 16);
    return true;
}

/* Takes ":u" or ":k" away from `name`. */
static void take_modes(struct counter *c, char *name)
{
    size_t n = strlen(name);
    c->user = c->kernel = true;
    if (n < 3 || name[n - 2] != ':' || (name[n - 1] != 'u' && name[n - 1] != 'k'))
        return;
    c->user = name[n - 1] == 'u';
    c->kernel = !c->user;
    name[n - 2] = '\0';
}

/* "SYSTEM:NAME" of something else than an event of ours with a word behind it. */
static bool may_be_tracepoint(const char *name)
{
    struct event e;
    char system[COUNTER_NAME];
    size_t n = strcspn(name, ":");
    snprintf(system, sizeof system, "%.*s", (int)n, name);
    return n > 0 && name[n] == ':' && name[n + 1] != '\0' && name[n + 1] != ':' &&
           !find_known(system, &e) && !find_cache(system, &e) && !find_raw(system, &e);
}

static int is_unknown(const struct counter *c, enum pfm_answer pfm, char err[TOOLS_ERROR_BYTES])
{
    return fail(err, -EINVAL, "there is no event of this name: %s (--counters=help lists them)%s", c->name,
                pfm == PFM_ABSENT ? "; libpfm4, which knows those of processors, is not installed" : "");
}

int counter_resolve(struct counter *c, char err[TOOLS_ERROR_BYTES])
{
    char name[COUNTER_NAME];
    strcpy(name, c->name);
    take_modes(c, name);
    if (find_known(name, &c->event) || find_cache(name, &c->event) || find_raw(name, &c->event))
        return 0;
    if (strchr(name, '/'))
        return counter_pmu(c, name, err);
    enum pfm_answer pfm = counter_pfm(c, c->name);
    if (pfm == PFM_KNOWN)
        return 0;
    take_modes(c, strcpy(name, c->name));
    if (may_be_tracepoint(name))
        return counter_tracepoint(c, name, err);
    return is_unknown(c, pfm, err);
}

void counter_each_name(void (*visit)(const char *name, void *about), void *about)
{
    char name[64];
    for (size_t i = 0; i < countof(known); i++)
        visit(known[i].name, about);
    for (size_t i = 0; i < countof(caches) * countof(operations); i++) {
        snprintf(name, sizeof name, "%s%s", caches[i / countof(operations)].name, operations[i % countof(operations)].name);
        visit(name, about);
    }
}
