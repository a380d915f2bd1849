/*
 * json_priv.h - what the files share that write the JSON report.
 */
#ifndef JSON_PRIV_H
#define JSON_PRIV_H

#include "page_priv.h"

/* ---- json.c ---------------------------------------------------------------------------------- */

struct json {
    FILE *out;
    unsigned depth;
    bool is_first; /* of its object or array */
};

/* Of all of them: the name is NULL in an array. */
void open_object(struct json *j, const char *name);
void open_array(struct json *j, const char *name);
void close_object(struct json *j);
void close_array(struct json *j);
void put_text(struct json *j, const char *name, const char *value);
void put_number(struct json *j, const char *name, uint64_t value);
void put_real(struct json *j, const char *name, double value); /* at least 0 */
void put_flag(struct json *j, const char *name, bool value);
void put_null(struct json *j, const char *name);
void put_known(struct json *j, const char *name, bool is_known, uint64_t value); /* else null */
void put_hex(struct json *j, const char *name, uint64_t value);                  /* "0x1f" */
void put_time(struct json *j, const char *name, uint64_t ns);

/* ---- print_json.c ---------------------------------------------------------------------------- */

/* "process": [..] */
void json_images(struct json *j, const struct image_numbers *images);

/* ---- suppress_print.c -------------------------------------------------------------------------- */

/* "suppressions": [..] */
void json_suppressions(struct json *j, const struct report *r);
/* "suppressed": {..}, of summary. */
void json_suppressed(struct json *j, const struct report *r);
/* "status", and why: of a finding. */
void json_disposition(struct json *j, const struct disposition *disposition);

/* ---- print_json_errors.c --------------------------------------------------------------------- */

/* "errors": [..] */
void json_errors(struct json *j, struct report *r);
/* How often there was each code, and at how many places: of summary. */
void json_error_counts(struct json *j, const struct report *r);
/* A thread of this image, if it is known. */
void json_thread(struct json *j, const char *name, const struct report *r, uint32_t image,
                 const struct thread *t);
/*
 * Its range and path, the module and the offset of the address there, and the variable, if its file
 * knows one.
 */
void json_region(struct json *j, struct report *r, const struct region *region);
/* The variable of what is a thread's own: in its frames or its thread-local storage. */
void json_variable_of_thread(struct json *j, struct report *r, const struct holder *h);

/* ---- print_json_costs.c ---------------------------------------------------------------------- */

/* "cost": {..} */
void json_cost(struct json *j, const struct report *r);
/* "measured": {..}, of cost, where something was; print_measured.c. */
void json_measured(struct json *j, const struct measured *m);

/* ---- print_counters.c ------------------------------------------------------------------------ */

/* "counters": [..], where there are any. */
void json_counters(struct json *j, const struct report *r);

/* ---- print_json_leaks.c ---------------------------------------------------------------------- */

/* "leaks": [..] */
void json_leaks(struct json *j, struct report *r);
/* Whether an image was asked about leaks: of its object. */
void json_leak_check(struct json *j, const struct image *image);

/* What of each code leaked, in blocks or in bytes: of summary. */
void json_leak_blocks(struct json *j, const struct report *r);
void json_leak_bytes(struct json *j, const struct report *r);
/* "leaks": {..}, of cost.self; nothing where nobody was asked. */
void json_leak_cost(struct json *j, const struct leak_cost *cost);

/* ---- print_json_maps.c ----------------------------------------------------------------------- */

/* "mappings": {..}, of summary; nothing where nobody maps. */
void json_mappings(struct json *j, const struct report *r);
/* "at_marks": [..], of a process that set marks. */
void json_marks(struct json *j, const struct image *image);

/* ---- print_json_dispatch.c ------------------------------------------------------------------- */

/* "dispatched": {..}, of summary; nothing without events=all. */
void json_dispatched(struct json *j, const struct report *r);

#endif
