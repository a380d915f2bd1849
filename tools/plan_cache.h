/*
 * plan_cache.h - the folder in which the plans of --access=full are kept (plan_cache.c).
 */
#ifndef PLAN_CACHE_H
#define PLAN_CACHE_H

#include <limits.h>
#include <time.h>

#include "tools.h"
#include "plan_view.h"

#define PLAN_PATH_BYTES (PATH_MAX + 2 * PLAN_BUILD_ID_MOST + 16)

/*
 * --plans, or the default; in it, `near` where addresses are not randomized (setarch -R, gdb): there is less
 * room above the libraries.
 */
int plan_folder(const struct options *o, char out[PATH_MAX], char err[TOOLS_ERROR_BYTES]);

bool plan_is_near(void);

/* Map and verify a plan; NULL, or why the runtime would refuse it. */
const char *plan_load(struct plan_view *out, const char *path, uint64_t *bytes);
void plan_unload(const struct plan_view *v, uint64_t bytes);

/* A run uses this plan, of the object with this path. */
void plan_used(const char *plan, const char *object);
void plan_remove(const char *plan);

/*
 * --access-objects=PATTERN[,PATTERN...] and --access-skip=PATTERN[,PATTERN...]: the runtime uses the plans in
 * the folder only-HASH, of both lists.  The launcher puts links to the plans of the matching objects there, and
 * plans of their own of objects in which functions are skipped.
 */
struct plan_choice {
    const char *list; /* "": all objects */
    const char *skip; /* "": no functions */
    char folder[PATH_MAX];
    uint64_t matched, skipped; /* bit n: pattern n of the list matches an object, or a function */
};
/* The choice has both lists. */
int plan_choice_begin(struct plan_choice *c, const char *folder, char err[TOOLS_ERROR_BYTES]);
/* Is the object with this path to be checked? */
bool plan_is_chosen(struct plan_choice *c, const char *object);
void plan_choose(const struct plan_choice *c, const char *plan);
/* Does plan_choose have nothing to add? */
bool plan_is_linked(const struct plan_choice *c, const char *plan);

struct kept_plan {
    char path[PLAN_PATH_BYTES];
    char id[2 * PLAN_BUILD_ID_MOST + 1]; /* the object's build-id, in hexadecimal digits */
    char object[PATH_MAX];               /* "": not known */
    uint64_t bytes;
    time_t used;
};
struct kept_plans {
    size_t count;
    struct kept_plan *at; /* by last use, the newest first; freed by the caller */
    uint64_t bytes;
};
struct kept_plans plans_list(const char *folder);
/* Remove plans that were not used for the longest time, until the others have at most `most` bytes. */
void plans_bound(const char *folder, uint64_t most);

#endif
