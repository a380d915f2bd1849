/* counter_refusals.c - why the kernel refused an event, in the texts that the runtime uses, too. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "perfstat_priv.h"

/* Does the machine have no hardware counters at all? */
static bool lacks_pmu(void)
{
    struct perf_event_attr cycles = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof cycles,
        .config = PERF_COUNT_HW_CPU_CYCLES,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    int fd = perf_open(&cycles, 0, -1);
    if (fd >= 0)
        perf_close(fd);
    return fd == -ENOENT;
}

static enum refusal not_found(const struct counter *c)
{
    if (c->event.source != SOURCE_HARDWARE)
        return REFUSAL_NO_EVENT;
    return lacks_pmu() ? REFUSAL_NO_PMU : REFUSAL_NOT_OF_PMU;
}

static void explain_not_permitted(struct counter *c)
{
    char level[24] = "";
    FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (f) {
        if (!fgets(level, sizeof level, f))
            level[0] = '\0';
        fclose(f);
    }
    level[strcspn(level, "\n")] = '\0';
    snprintf(c->why, sizeof c->why, "%s%s (perf_event_paranoid is %s)",
             refusal_text(REFUSAL_PERMISSION),
             c->kernel && !c->event.in_both ? " in the kernel" : "", *level ? level : "not known");
}

static void explain_no_descriptor(struct counter *c)
{
    struct rlimit files = {0};
    getrlimit(RLIMIT_NOFILE, &files);
    snprintf(c->why, sizeof c->why, "%s%llu)", refusal_text(REFUSAL_NO_DESCRIPTOR),
             (unsigned long long)files.rlim_cur);
}

static enum refusal refusal_of(const struct counter *c)
{
    switch (c->refused) {
    case -ENOENT:
        return not_found(c);
    case -EPERM:
        return REFUSAL_FORBIDDEN;
    case -ENOSYS:
        return REFUSAL_NO_PERF;
    case -EINVAL:
        return REFUSAL_NOT_SO;
    case -ENFILE:
        return REFUSAL_NO_FILE;
    case -EBUSY:
        return REFUSAL_TAKEN;
    case -ENOSPC:
        return REFUSAL_ALL_TAKEN;
    case -EOPNOTSUPP:
        return REFUSAL_NO_WAY;
    case -ESRCH:
        return REFUSAL_NO_THREAD;
    case -ENODEV:
        return REFUSAL_OFFLINE;
    default:
        return REFUSAL_OTHER;
    }
}

void counter_explain(struct counter *c)
{
    if (c->refused == -EACCES) {
        explain_not_permitted(c);
    } else if (c->refused == -EMFILE) {
        explain_no_descriptor(c);
    } else {
        enum refusal refusal = refusal_of(c);
        int n = snprintf(c->why, sizeof c->why, "%s", refusal_text(refusal));
        if (refusal == REFUSAL_OTHER)
            snprintf(c->why + n, sizeof c->why - (size_t)n, "%d", -c->refused);
    }
}
