/*
 * counter_pmu.c - events by their names in /sys (PMUs) and tracefs (tracepoints).
 *
 * Formats and terms are described in src/counters/pmu.c; terms.h places the bits for both.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "perfstat_priv.h"
#include "format/terms.h"

#define DEVICES "/sys/bus/event_source/devices"
#define TRACEPOINTS "/sys/kernel/tracing/events"

/* Read the first line; false: the file cannot be read. */
static bool read_line(char *line, size_t room, const char *top, const char *a, const char *b,
                      const char *c)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/%s%s%s", top, a, b, c ? "/" : "", c ? c : "");
    FILE *f = fopen(path, "re");
    bool good = f && fgets(line, (int)room, f);
    if (f)
        fclose(f);
    if (good)
        line[strcspn(line, "\n")] = '\0';
    return good;
}

static bool is_plain(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/');
}

/* "0x1f" or "31"; a leading 0 does not mean octal, as in perf and rtcheck/cpc.h. */
static bool parse_value(const char *text, uint64_t *out)
{
    char *end;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    errno = 0;
    *out = strtoull(text, &end, hex ? 16 : 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static uint64_t *field_of(struct event *e, const char **format)
{
    static const char *const name[] = {"config:", "config1:", "config2:"};
    uint64_t *const field[] = {&e->config, &e->config1, &e->config2};
    for (int i = 0; i < 3; i++)
        if (strncmp(*format, name[i], strlen(name[i])) == 0) {
            *format += strlen(name[i]);
            return field[i];
        }
    return NULL;
}

static int put_attribute(const char *pmu, const char *name, uint64_t value, struct event *e,
                         char err[TOOLS_ERROR_BYTES])
{
    char text[128];
    if (strcmp(name, "config") == 0 || strcmp(name, "config1") == 0 || strcmp(name, "config2") == 0)
        snprintf(text, sizeof text, "%s:0-63", name);
    else if (!is_plain(name) || !read_line(text, sizeof text, DEVICES, pmu, "format", name))
        return fail(err, -EINVAL, "the PMU %s has no event and no attribute of this name: %s", pmu,
                    name);
    const char *format = text;
    uint64_t *field = field_of(e, &format);
    if (!field)
        return fail(err, -EINVAL, "the PMU %s has no event and no attribute of this name: %s", pmu,
                    name);
    if (format_place(field, format, value))
        return fail(err, -EINVAL, "the value is too large for this attribute of %s: %s", pmu, name);
    return 0;
}

/* ---- terms: event=0x2e,umask=0x41 ------------------------------------------------------------ */

static int put_terms(const char *pmu, char *terms, bool aliases, struct event *e,
                     char err[TOOLS_ERROR_BYTES]);

static int put_term(const char *pmu, char *term, bool aliases, struct event *e,
                    char err[TOOLS_ERROR_BYTES])
{
    char line[256], *sign = strchr(term, '=');
    uint64_t value = 1;
    if (sign) {
        *sign = '\0';
        if (!parse_value(sign + 1, &value))
            return fail(err, -EINVAL, "this is no number: %s", sign + 1);
    } else if (aliases && is_plain(term) &&
               read_line(line, sizeof line, DEVICES, pmu, "events", term)) {
        return put_terms(pmu, line, false, e, err);
    }
    return put_attribute(pmu, term, value, e, err);
}

static int put_terms(const char *pmu, char *terms, bool aliases, struct event *e,
                     char err[TOOLS_ERROR_BYTES])
{
    char *rest = terms, *term;
    int bad = 0;
    while (!bad && (term = strsep(&rest, ",")))
        bad = put_term(pmu, term, aliases, e, err);
    return bad;
}

int counter_pmu(struct counter *c, const char *name, char err[TOOLS_ERROR_BYTES])
{
    char pmu[COUNTER_NAME], type[16];
    uint64_t number;
    strcpy(pmu, name);
    char *terms = strchr(pmu, '/');
    *terms++ = '\0';
    size_t n = strlen(terms);
    if (n < 2 || terms[n - 1] != '/')
        return fail(err, -EINVAL, "not of the form PMU/EVENT/: %s", name);
    terms[n - 1] = '\0';
    c->event = (struct event){.source = SOURCE_PMU};
    if (!is_plain(pmu) || !read_line(type, sizeof type, DEVICES, pmu, "type", NULL) ||
        !parse_value(type, &number)) {
        snprintf(c->why, sizeof c->why, "%s%s", refusal_text(REFUSAL_NO_PMU_NAME), pmu);
        return 0;
    }
    c->event.type = (uint32_t)number;
    return put_terms(pmu, terms, true, &c->event, err);
}

/* ---- tracepoints ----------------------------------------------------------------------------- */

int counter_tracepoint(struct counter *c, const char *name, char err[TOOLS_ERROR_BYTES])
{
    char system[COUNTER_NAME], line[24];
    struct stat st;
    strcpy(system, name);
    char *event = strchr(system, ':');
    *event++ = '\0';
    c->event = (struct event){
        .source = SOURCE_TRACEPOINT, .in_kernel_only = true, .type = PERF_TYPE_TRACEPOINT};
    if (is_plain(system) && is_plain(event) &&
        read_line(line, sizeof line, TRACEPOINTS, system, event, "id") &&
        parse_value(line, &c->event.config))
        return 0;
    if (stat(TRACEPOINTS, &st) == 0)
        return fail(err, -EINVAL, "there is no tracepoint of this name: %s", name);
    snprintf(c->why, sizeof c->why, "%s%s",
             refusal_text(errno == ENOENT ? REFUSAL_NO_TRACEFS : REFUSAL_TRACEPOINTS), name);
    return 0;
}

/* ---- all names ------------------------------------------------------------------------------- */

static void each_event_of(const char *pmu, void (*visit)(const char *name, void *about),
                          void *about)
{
    char path[512], name[600];
    struct dirent *entry;
    snprintf(path, sizeof path, DEVICES "/%.200s/events", pmu);
    DIR *dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        if (!is_plain(entry->d_name) || strchr(entry->d_name, '.')) /* NAME.unit and NAME.scale */
            continue;
        snprintf(name, sizeof name, "%s/%s/", pmu, entry->d_name);
        visit(name, about);
    }
    if (dir)
        closedir(dir);
}

void counter_each_pmu_name(void (*visit)(const char *name, void *about), void *about)
{
    struct dirent *entry;
    DIR *dir = opendir(DEVICES);
    while (dir && (entry = readdir(dir)))
        if (is_plain(entry->d_name))
            each_event_of(entry->d_name, visit, about);
    if (dir)
        closedir(dir);
}
