/*
 * json.h - a writer of JSON: objects and arrays are indented, untrusted text is escaped.
 */
#ifndef JSON_H
#define JSON_H

#include "basics.h"

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

#endif
