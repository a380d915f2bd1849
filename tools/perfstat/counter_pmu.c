/*
 * counter_pmu.c - events by their names in /sys (PMUs) and tracefs (tracepoints).
 *
 * Formats and terms are described in pmu_terms.h.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "perfstat_priv.h"
#include "pmu_terms.h"

#define DEVICES "/sys/bus/event_source/devices"
#define TRACEPOINTS "/sys/kernel/tracing/events"

/* Read the first line of TOP/A/B/C, or of TOP/A/C; false: the file cannot be read. */
static bool read_line(void *top, const char *a, const char *b, const char *c, char *line,
                      size_t room)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/%s%s%s", (char *)top, a, b ? b : "", b ? "/" : "", c);
    FILE *f = fopen(path, "re");
    bool good = f && fgets(line, (int)room, f);
    if (f)
        fclose(f);
    if (good)
        line[strcspn(line, "\n")] = '\0';
    return good;
}

int counter_pmu(struct counter *c, const char *name, char err[TOOLS_ERROR_BYTES])
{
    struct pmu_terms t = {.read = read_line, .about = DEVICES};
    char pmu[COUNTER_NAME];
    c->event = (struct event){.source = SOURCE_PMU};
    enum pmu_fault fault = pmu_event_parse(&t, strcpy(pmu, name), &c->event);
    if (fault == PMU_BAD_FORM)
        return fail(err, -EINVAL, "not of the form PMU/EVENT/: %s", name);
    if (fault == PMU_NO_NUMBER)
        return fail(err, -EINVAL, "this is no number: %s", t.word);
    if (fault == PMU_TOO_LARGE)
        return fail(err, -EINVAL, "the value is too large for this attribute of %s: %s", pmu,
                    t.word);
    if (fault == PMU_UNKNOWN)
        snprintf(c->why, sizeof c->why, "%s%s", refusal_text(REFUSAL_NO_PMU_NAME), pmu);
    else if (fault)
        return fail(err, -EINVAL, "the PMU %s has no event and no attribute of this name: %s", pmu,
                    t.word);
    return 0;
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
    if (pmu_name_is_plain(system) && pmu_name_is_plain(event) &&
        read_line(TRACEPOINTS, system, event, "id", line, sizeof line) &&
        pmu_number_parse(line, &c->event.config))
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
        if (!pmu_name_is_plain(entry->d_name) ||
            strchr(entry->d_name, '.')) /* NAME.unit and NAME.scale */
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
        if (pmu_name_is_plain(entry->d_name))
            each_event_of(entry->d_name, visit, about);
    if (dir)
        closedir(dir);
}
