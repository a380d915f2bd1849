/*
 * print_json_priv.h - shared by the files that write the JSON report.
 */
#ifndef PRINT_JSON_PRIV_H
#define PRINT_JSON_PRIV_H

#include "text.h"

/* ---- print_json.c ---------------------------------------------------------------------------- */

/* "process": [..] */
void json_images(struct json *j, const struct image_numbers *images);

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

/* "build_id": "..", of print_json.c */
void json_build_id(struct json *j, const uint8_t *id, uint32_t bytes);

/* ---- print_json_objects.c -------------------------------------------------------------------- */

/* "objects": [..]; nothing without --access=full. */
void json_objects(struct json *j, const struct report *r);

#endif
