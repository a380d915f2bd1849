/*
 * unchecked.c - the programs that a run started and did not check, from the table in the run file.
 */
#include <string.h>

#include "model.h"
#include "program.h"
#include "unchecked.h"

static const char *const codes[] = {
    "",
#define UNCHECKED(id, code, text) code,
#include "format/unchecked.def"
#undef UNCHECKED
};
static_assert(countof(codes) == UNCHECKED_COUNT, "one for each reason");

const char *unchecked_code(uint32_t reason)
{
    return reason < UNCHECKED_COUNT ? codes[reason] : "unknown";
}

const char *unchecked_reason_text(uint32_t reason)
{
    return reason < UNCHECKED_COUNT ? unchecked_text((enum unchecked_reason)reason)
                                    : "for a reason that this rtcheck does not know";
}

/* Find or add an entry. Two processes may have recorded the same program concurrently. */
static struct unchecked_program *find(struct unchecked_programs *all,
                                      const struct unchecked_program *wanted)
{
    for (uint32_t i = 0; i < all->count; i++) {
        struct unchecked_program *p = &all->at[i];
        if (p->reason == wanted->reason && p->by_interpreter == wanted->by_interpreter &&
            strcmp(p->path, wanted->path) == 0)
            return p;
    }
    all->at[all->count] = *wanted;
    all->at[all->count].count = 0;
    return &all->at[all->count++];
}

struct unchecked_programs unchecked_programs(const struct report *r)
{
    struct unchecked_programs all = {0};
    const struct run_header *run = r->view.run;

    for (uint32_t i = 0; run->unchecked_offset && i < RTC_UNCHECKED_COUNT; i++) {
        const struct unchecked_record *u = &run_unchecked(run)[i];
        struct unchecked_program p = {.path = u->path,
                                      .reason = u->reason,
                                      .by_interpreter = u->flags & UNCHECKED_INTERPRETER};
        if (p.reason == UNCHECKED_NONE || p.reason == UNCHECKED_WRITING || u->count == 0)
            continue;
        find(&all, &p)->count += u->count;
    }
    for (uint32_t i = 0; i < all.count; i++)
        all.named += all.at[i].count;
    return all;
}
