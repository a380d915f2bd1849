/*
 * counter_names.c - from the name of an event to its perf_event_attr fields.
 *
 * NAME counts both modes; NAME:u counts user mode, and NAME:k kernel mode alone.  The tables of
 * rtcheck are searched first, so that a name is the same event as in rtcheck/cpc.h; libpfm4 is
 * searched next.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "perfstat_priv.h"
#include "format/event_names.h"

static bool find_raw(const char *name, struct event *e)
{
    size_t digits = name[0] == 'r' ? strspn(name + 1, "0123456789abcdefABCDEF") : 0;
    *e = (struct event){SOURCE_HARDWARE, .type = PERF_TYPE_RAW};
    if (digits == 0 || digits > 16 || name[1 + digits])
        return false;
    e->config = strtoull(name + 1, NULL, 16);
    return true;
}

/* Remove ":u" or ":k" from `name` and set the modes of `c`. */
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

/* "SYSTEM:NAME" where SYSTEM is not an event of our tables with a suffix. */
static bool may_be_tracepoint(const char *name)
{
    struct event e;
    char system[COUNTER_NAME];
    size_t n = strcspn(name, ":");
    snprintf(system, sizeof system, "%.*s", (int)n, name);
    return n > 0 && name[n] == ':' && name[n + 1] != '\0' && name[n + 1] != ':' &&
           !event_named(system, &e) && !find_raw(system, &e);
}

static int is_unknown(const struct counter *c, enum pfm_answer pfm, char err[TOOLS_ERROR_BYTES])
{
    return fail(
        err, -EINVAL, "there is no event of this name: %s (--counters=help lists them)%s", c->name,
        pfm == PFM_ABSENT ? "; libpfm4, which has those of processors, is not installed" : "");
}

int counter_resolve(struct counter *c, char err[TOOLS_ERROR_BYTES])
{
    char name[COUNTER_NAME];
    strcpy(name, c->name);
    take_modes(c, name);
    if (event_named(name, &c->event) || find_raw(name, &c->event))
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
    char room[EVENT_NAME_ROOM];
    const char *name;
    struct event e;
    for (uint32_t n = 0; (name = event_name(n, room, &e)); n++)
        visit(name, about);
}
