/*
 * pmu.c - events listed by the kernel in /sys and tracefs.
 *
 * shadow/pmu_terms.h describes PMUs.  A tracepoint is a directory of tracefs with its number in the
 * file "id".
 */
#include "counters_priv.h"
#include "pmu_terms.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#define DEVICES "/sys/bus/event_source/devices"

struct path {
    char text[256];
};

/* A path of up to four components; NULL: none. */
static struct path path_of(const char *top, const char *a, const char *b, const char *c)
{
    struct path p;
    struct text t = text_begin(p.text, sizeof p.text);
    const char *const part[] = {a, b, c};
    text_put(&t, top);
    for (size_t i = 0; i < countof(part); i++)
        if (part[i]) {
            text_put(&t, "/");
            text_put(&t, part[i]);
        }
    text_end(&t);
    return p;
}

static bool read_file(struct path p, char *buffer, size_t room, int *lacks)
{
    long got = os_sandboxed() ? -EPERM : os_read_text(p.text, buffer, room);
    note_lack(lacks, got);
    if (got > 0 && buffer[got - 1] == '\n')
        buffer[got - 1] = '\0';
    return got > 0;
}

/* ---- PMUs ------------------------------------------------------------------------------------ */

/* Once descriptors have run out nothing is read: a file that was not found may exist. */
static bool read_line(void *about, const char *pmu, const char *folder, const char *name,
                      char *line, size_t room)
{
    struct call *c = about;
    return !c->lacks && text_length(pmu) < PMU_NAME &&
           read_file(path_of(DEVICES, pmu, folder, name), line, room, &c->lacks);
}

/* Write the message.  Return 0, or -errno. */
static int answer(struct call *c, enum pmu_fault fault, const char *word)
{
    if (c->lacks)
        return no_descriptors(c, "", c->lacks);
    if (fault == PMU_BAD_FORM)
        return event_is_unknown(c, word, "not of the form PMU/EVENT/: ");
    if (fault == PMU_UNKNOWN)
        return event_is_unknown(c, word, refusal_text(REFUSAL_NO_PMU_NAME));
    if (fault == PMU_NO_NUMBER)
        return event_is_unknown(c, word, "this is no number: ");
    if (fault == PMU_NO_EVENT)
        return event_is_unknown(c, word, "the PMU has no event of this name: ");
    if (fault != PMU_TOO_LARGE)
        return fault ? attribute_is_unknown(c, word) : 0;
    text_put(call_because(c, RTC_CPC_ATTRIBUTE_OUT_OF_RANGE, ""),
             "the value is too large for this attribute: ");
    text_put(&c->message, word);
    return -EINVAL;
}

int pmu_attribute(struct call *c, const char *pmu, const char *name, uint64_t value,
                  struct event *e)
{
    struct pmu_terms t = {.read = read_line, .about = c};
    enum pmu_fault fault = pmu_attribute_put(&t, pmu, name, value, e);
    return answer(c, fault, t.word);
}

static int no_sandbox(struct call *c)
{
    text_put(call_because(c, RTC_CPC_UNAVAILABLE, ""), refusal_text(REFUSAL_SANDBOX));
    return -ECANCELED;
}

int pmu_event(struct call *c, const char *name, struct event *e)
{
    char words[128];
    struct pmu_terms t = {.read = read_line, .about = c, .word = name};
    if (os_sandboxed())
        return no_sandbox(c);
    memcpy(words, name, text_length(name) + 1); /* fits: a request's name has at most 127 bytes */
    enum pmu_fault fault = pmu_event_parse(&t, words, e);
    return answer(c, fault, t.word);
}

/* ---- tracepoints ----------------------------------------------------------------------------- */

static int no_tracepoint(struct call *c, const char *name)
{
    struct stat found;
    if (c->lacks)
        return no_descriptors(c, "", c->lacks);
    int err = os_stat("/sys/kernel/tracing/events", &found);
    if (err == -ENOENT)
        return event_is_unknown(c, name, refusal_text(REFUSAL_NO_TRACEFS));
    if (!err)
        return event_is_unknown(c, name, "there is no tracepoint of this name: ");
    text_put(call_because(c, RTC_CPC_ATTR_REQUIRES_PRIVILEGE, ""),
             refusal_text(REFUSAL_TRACEPOINTS));
    text_put(&c->message, name);
    return -EACCES;
}

int tracepoint_event(struct call *c, const char *name, struct event *e)
{
    char system[128], text[24];
    size_t n = text_length(name);
    if (os_sandboxed())
        return no_sandbox(c);
    memcpy(system, name, n + 1);
    char *event = memchr(system, ':', n);
    *event++ = '\0';
    *e = (struct event){SOURCE_TRACEPOINT, .in_kernel_only = true, .type = PERF_TYPE_TRACEPOINT};
    if (pmu_name_is_plain(system) && pmu_name_is_plain(event) &&
        read_file(path_of("/sys/kernel/tracing/events", system, event, "id"), text, sizeof text,
                  &c->lacks) &&
        pmu_number_parse(text, &e->config))
        return 0;
    return no_tracepoint(c, name);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void note_pmu(const char *name, void *about)
{
    struct pmus *all = about;
    if (all->count == PMUS_MAX || text_length(name) >= sizeof all->name[0])
        return;
    memcpy(all->name[all->count++], name, text_length(name) + 1);
}

void pmus_list(struct pmus *all, int *lacks)
{
    all->count = 0;
    note_lack(lacks, os_each_name(DEVICES, note_pmu, all));
}

void pmu_each(const char *pmu, const char *folder, void (*visit)(const char *name, void *about),
              void *about, int *lacks)
{
    note_lack(lacks, os_each_name(path_of(DEVICES, pmu, folder, NULL).text, visit, about));
}

bool pmu_has(const char *pmu, const char *folder, const char *name, int *lacks)
{
    char text[4];
    return read_file(path_of(DEVICES, pmu, folder, name), text, sizeof text, lacks);
}
