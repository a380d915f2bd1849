/*
 * json_priv.h - shared by the files that write the JSON report.
 */
#ifndef JSON_PRIV_H
#define JSON_PRIV_H

#include "page_priv.h"

/* ---- json.c ---------------------------------------------------------------------------------- */

struct json {
    FILE *out;
    unsigned depth;
    bool is_first; /* no item yet in its object or array */
};

/* In all functions the name is NULL in an array. */
void open_object(struct json *j, const char *name);
void open_array(struct json *j, const char *name);
void close_object(struct json *j);
void close_array(struct json *j);
void put_text(struct json *j, const char *name, const char *value);
void put_number(struct json *j, const char *name, uint64_t value);
void put_real(struct json *j, const char *name, double value); /* at least 0 */
void put_flag(struct json *j, const char *name, bool value);
void put_null(struct json *j, const char *name);
void put_known(struct json *j, const char *name, bool is_known,
               uint64_t value);                                 /* null if not known */
void put_hex(struct json *j, const char *name, uint64_t value); /* "0x1f" */
void put_time(struct json *j, const char *name, uint64_t ns);

/* ---- print_json.c ---------------------------------------------------------------------------- */

/* "process": [..] */
void json_images(struct json *j, const struct image_numbers *images);

/* ---- suppress_print.c ------------------------------------------------------------------------ */

/* "suppressions": [..] */
void json_suppressions(struct json *j, const struct report *r);
/* "suppressed": {..}, in summary. */
void json_suppressed(struct json *j, const struct report *r);
/* "status" and the reason, in a finding. */
void json_disposition(struct json *j, const struct disposition *disposition);

/* ---- print_json_errors.c --------------------------------------------------------------------- */

/* "errors": [..] */
void json_errors(struct json *j, struct report *r);
/* Number of errors and of error sites for each code, in summary. */
void json_error_counts(struct json *j, const struct report *r);
/* A thread of this image; nothing if it is not known. */
void json_thread(struct json *j, const char *name, const struct report *r, uint32_t image,
                 const struct thread *t);
/*
 * Its range and path, the module, the offset of the address in it, and the variable if debug
 * information has one.
 */
void json_region(struct json *j, struct report *r, const struct region *region);
/* The variable that holds the pointer, on a thread's stack or in its TLS. */
void json_variable_of_thread(struct json *j, struct report *r, const struct holder *h);

/* ---- print_json_costs.c ---------------------------------------------------------------------- */

/* "cost": {..} */
void json_cost(struct json *j, const struct report *r);
/* "measured": {..}, in cost, if there was a measurement; print_measured.c. */
void json_measured(struct json *j, const struct measured *m);

/* ---- print_counters.c ------------------------------------------------------------------------ */

/* "counters": [..], if there are any. */
void json_counters(struct json *j, const struct report *r);

/* ---- print_json_leaks.c ---------------------------------------------------------------------- */

/* "leaks": [..] */
void json_leaks(struct json *j, struct report *r);
/* The state of the leak check, in an image's object. */
void json_leak_check(struct json *j, const struct image *image);

/* Leaked blocks or bytes for each code, in summary. */
void json_leak_blocks(struct json *j, const struct report *r);
void json_leak_bytes(struct json *j, const struct report *r);
/* "leaks": {..}, in cost.self; nothing if no leak check was requested. */
void json_leak_cost(struct json *j, const struct leak_cost *cost);

/* ---- print_json_maps.c ----------------------------------------------------------------------- */

/* "mappings": {..}, in summary; nothing if no process maps memory. */
void json_mappings(struct json *j, const struct report *r);
/* "at_marks": [..], of a process that set marks. */
void json_marks(struct json *j, const struct image *image);

/* ---- print_json_dispatch.c ------------------------------------------------------------------- */

/* "dispatched": {..}, in summary; nothing without events=all. */
void json_dispatched(struct json *j, const struct report *r);

#endif
