/*
 * pmu.c - events listed by the kernel in /sys and tracefs.
 *
 * A PMU is a directory of /sys/bus/event_source/devices:
 *
 *     cpu/type                  4                     attr.type
 *     cpu/events/cache-misses   event=0x2e,umask=0x41    terms
 *     cpu/format/event          config:0-7,32-35      where the bits of a term go, lowest first
 *
 * An event is written "cpu/cache-misses/", or by its terms, "cpu/event=0x2e,umask=0x41/".  A
 * tracepoint is a directory of tracefs with its number in the file "id".
 */
#include "counters_priv.h"
#include "format/terms.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#define DEVICES "/sys/bus/event_source/devices"

struct path {
    char text[256];
};

/* A path of up to four components. */
static struct path path_of(const char *top, const char *a, const char *b, const char *c)
{
    struct path p;
    struct text t = text_begin(p.text, sizeof p.text);
    const char *const part[] = {a, b, c};
    text_put(&t, top);
    for (size_t i = 0; i < countof(part) && part[i]; i++) {
        text_put(&t, "/");
        text_put(&t, part[i]);
    }
    text_end(&t);
    return p;
}

static bool is_plain(const char *name)
{
    for (const char *s = name; *s; s++)
        if (*s == '/' || (*s == '.' && s == name))
            return false;
    return *name;
}

static bool read_file(struct path p, char *buffer, size_t room, int *lacks)
{
    long got = os_sandboxed() ? -EPERM : os_read_text(p.text, buffer, room);
    note_lack(lacks, got);
    if (got > 0 && buffer[got - 1] == '\n')
        buffer[got - 1] = '\0';
    return got > 0;
}

/* "0x1f" or "31", to the end of the text. */
static bool parse_number(const char *s, uint64_t *out)
{
    bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    s += hex ? 2 : 0;
    return (hex ? text_parse_hex(&s, out) : text_parse_decimal(&s, out)) && !*s;
}

/* ---- attributes: config:0-7,32-35 ------------------------------------------------------------ */

static bool is_config(const char *name)
{
    return text_equal(name, "config") || text_equal(name, "config1") || text_equal(name, "config2");
}

static uint64_t *field_of(struct event *e, const char **format)
{
    static const char *const name[] = {"config:", "config1:", "config2:"};
    uint64_t *const field[] = {&e->config, &e->config1, &e->config2};
    for (size_t i = 0; i < countof(name); i++)
        if (text_starts(*format, name[i])) {
            *format += text_length(name[i]);
            return field[i];
        }
    return NULL;
}

static int out_of_range(struct call *c, const char *name)
{
    struct text *w = call_because(c, RTC_CPC_ATTRIBUTE_OUT_OF_RANGE, "");
    text_put(w, "the value is too large for this attribute: ");
    text_put(w, name);
    return -EINVAL;
}

int pmu_attribute(struct call *c, const char *pmu, const char *name, uint64_t value,
                  struct event *e)
{
    char text[128];
    struct event changed = *e;
    struct text t = text_begin(text, sizeof text);
    if (is_config(name)) {
        text_put(&t, name);
        text_put(&t, ":0-63");
        text_end(&t);
    } else if (!is_plain(name) ||
               !read_file(path_of(DEVICES, pmu, "format", name), text, sizeof text, &c->lacks))
        return attribute_is_unknown(c, name);
    const char *format = text;
    uint64_t *field = field_of(&changed, &format);
    if (!field)
        return attribute_is_unknown(c, name);
    if (format_place(field, format, value))
        return out_of_range(c, name);
    *e = changed;
    return 0;
}

/* ---- terms: event=0x2e,umask=0x41 ------------------------------------------------------------ */

static int take_terms(struct call *c, const char *pmu, char *terms, struct event *e, bool aliases);

static int take_alias(struct call *c, const char *pmu, const char *name, struct event *e)
{
    char terms[256];
    if (!read_file(path_of(DEVICES, pmu, "events", name), terms, sizeof terms, &c->lacks))
        return c->lacks ? event_is_unknown(c, name, "") : -ENOENT;
    return take_terms(c, pmu, terms, e, false);
}

/* Apply "NAME=VALUE", an event alias, or an attribute without a value, which is set to 1. */
static int take_term(struct call *c, const char *pmu, char *term, struct event *e, bool aliases)
{
    char *sign = memchr(term, '=', text_length(term));
    uint64_t value = 1;
    if (sign) {
        *sign = '\0';
        if (!parse_number(sign + 1, &value))
            return event_is_unknown(c, sign + 1, "this is no number: ");
    } else if (aliases && is_plain(term)) {
        int err = take_alias(c, pmu, term, e);
        if (err != -ENOENT)
            return err;
        if (!is_config(term) && !pmu_has(pmu, "format", term, &c->lacks))
            return event_is_unknown(c, term, "the PMU has no event of this name: ");
    }
    return pmu_attribute(c, pmu, term, value, e);
}

static int take_terms(struct call *c, const char *pmu, char *terms, struct event *e, bool aliases)
{
    for (char *next = terms; next;) {
        char *term = next, *comma = memchr(term, ',', text_length(term));
        next = comma ? comma + 1 : NULL;
        if (comma)
            *comma = '\0';
        int err = take_term(c, pmu, term, e, aliases);
        if (err)
            return err;
    }
    return 0;
}

static int no_sandbox(struct call *c)
{
    text_put(call_because(c, RTC_CPC_UNAVAILABLE, ""), refusal_text(REFUSAL_SANDBOX));
    return -ECANCELED;
}

#define TYPE_ROOM 16

static const char *type_of(struct call *c, const char *pmu, char room[TYPE_ROOM])
{
    return read_file(path_of(DEVICES, pmu, "type", NULL), room, TYPE_ROOM, &c->lacks) ? room : "";
}

int pmu_event(struct call *c, const char *name, struct event *e)
{
    char pmu[128], type[TYPE_ROOM];
    size_t n = text_length(name);
    uint64_t number;
    if (os_sandboxed())
        return no_sandbox(c);
    memcpy(pmu, name, n + 1); /* fits: a request's name has at most 127 bytes */
    char *terms = memchr(pmu, '/', n);
    *terms++ = '\0';
    size_t room = text_length(terms);
    if (room < 2 || terms[room - 1] != '/')
        return event_is_unknown(c, name, "not of the form PMU/EVENT/: ");
    terms[room - 1] = '\0';
    if (!is_plain(pmu) || text_length(pmu) >= PMU_NAME ||
        !parse_number(type_of(c, pmu, type), &number))
        return event_is_unknown(c, pmu, refusal_text(REFUSAL_NO_PMU_NAME));
    *e = (struct event){SOURCE_PMU, .type = (uint32_t)number};
    return take_terms(c, pmu, terms, e, true);
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
    if (is_plain(system) && is_plain(event) &&
        read_file(path_of("/sys/kernel/tracing/events", system, event, "id"), text, sizeof text,
                  &c->lacks) &&
        parse_number(text, &e->config))
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
