/*
 * counter_pfm.c - names of processor events, by libpfm4.
 *
 * The library is loaded only if a name is not in our tables; as a linked library its 40,000
 * relocations would be processed at every start.  It has no other use here, and may be absent.
 *
 * Names are resolved for all processors: "skl::INST_RETIRED" is a valid name on every machine, and
 * n/a if the processor is another one.  Such an encoding is never passed to the kernel, because the
 * same bits mean another event there.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <perfmon/pfmlib_perf_event.h>

#include "perfstat_priv.h"

static struct {
    bool tried;
    __typeof__(pfm_initialize) *initialize; /* NULL: absent */
    __typeof__(pfm_get_os_event_encoding) *encoding;
    __typeof__(pfm_get_pmu_info) *pmu_info;
    __typeof__(pfm_get_event_info) *event_info;
    __typeof__(pfm_get_event_next) *event_next;
} pfm;

/*
 * LIBPFM_ENCODE_INACTIVE is read from the environment, which the program inherits: unset it again.
 */
static bool begin(void)
{
    static const char *const all = "LIBPFM_ENCODE_INACTIVE";
    bool was_set = getenv(all);
    setenv(all, "1", 0);
    bool good = pfm.initialize() == PFM_SUCCESS;
    if (!was_set)
        unsetenv(all);
    return good;
}

static bool is_there(void)
{
    void *library =
        pfm.tried || test_without("libpfm") ? NULL : dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
    pfm.tried = true;
    if (!library)
        return pfm.initialize;
    *(void **)&pfm.encoding = dlsym(library, "pfm_get_os_event_encoding");
    *(void **)&pfm.pmu_info = dlsym(library, "pfm_get_pmu_info");
    *(void **)&pfm.event_info = dlsym(library, "pfm_get_event_info");
    *(void **)&pfm.event_next = dlsym(library, "pfm_get_event_next");
    if (pfm.encoding && pfm.pmu_info && pfm.event_info && pfm.event_next)
        *(void **)&pfm.initialize = dlsym(library, "pfm_initialize");
    if (pfm.initialize && !begin())
        pfm.initialize = NULL;
    return pfm.initialize;
}

static bool is_of_this_machine(int event)
{
    pfm_event_info_t info = {.size = sizeof info};
    pfm_pmu_info_t pmu = {.size = sizeof pmu};
    return pfm.event_info(event, PFM_OS_PERF_EVENT_EXT, &info) == PFM_SUCCESS &&
           pfm.pmu_info(info.pmu, &pmu) == PFM_SUCCESS && pmu.is_present;
}

enum pfm_answer counter_pfm(struct counter *c, const char *name)
{
    struct perf_event_attr attr = {.size = sizeof attr};
    pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof arg};
    if (!is_there())
        return PFM_ABSENT;
    if (pfm.encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg) != PFM_SUCCESS)
        return PFM_UNKNOWN;
    c->event = (struct event){
        .source = attr.type == PERF_TYPE_SOFTWARE ? SOURCE_SOFTWARE : SOURCE_HARDWARE,
        .type = attr.type,
        .config = attr.config,
        .config1 = attr.config1,
        .config2 = attr.config2,
    };
    c->user = !attr.exclude_user;
    c->kernel = !attr.exclude_kernel;
    if (!is_of_this_machine(arg.idx))
        snprintf(c->why, sizeof c->why, "%s", refusal_text(REFUSAL_OTHER_PROCESSOR));
    return PFM_KNOWN;
}

/* Events of this machine's processor; generic events are in our tables. */
static void each_of_pmu(pfm_pmu_t pmu, const pfm_pmu_info_t *info,
                        void (*visit)(const char *name, void *about), void *about)
{
    for (int i = info->first_event; i != -1; i = pfm.event_next(i)) {
        pfm_event_info_t event = {.size = sizeof event};
        char name[256];
        if (pfm.event_info(i, PFM_OS_PERF_EVENT_EXT, &event) != PFM_SUCCESS || event.pmu != pmu)
            return;
        snprintf(name, sizeof name, "%s::%s", info->name, event.name);
        visit(name, about);
    }
}

void counter_each_pfm_name(void (*visit)(const char *name, void *about), void *about)
{
    for (int pmu = 0; is_there() && pmu < PFM_PMU_MAX; pmu++) {
        pfm_pmu_info_t info = {.size = sizeof info};
        if (pmu != PFM_PMU_PERF_EVENT && pmu != PFM_PMU_PERF_EVENT_RAW &&
            pfm.pmu_info((pfm_pmu_t)pmu, &info) == PFM_SUCCESS && info.is_present)
            each_of_pmu((pfm_pmu_t)pmu, &info, visit, about);
    }
}
