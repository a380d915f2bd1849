/*
 * print_json_objects.c - --access=full in the JSON report: each object, and whether it was checked.
 */
#include "objects.h"
#include "print_json_priv.h"

static void print_parts(struct json *j, const struct object_record *o)
{
    struct native_part part;

    open_object(j, "native_functions");
    for (uint32_t i = 0; object_part(o, i, &part); i++)
        if (part.bytes > 0)
            put_number(j, part.code, part.bytes);
    close_object(j);
}

static void print_object(struct json *j, const struct run_object *o)
{
    const struct object_record *record = &o->record;

    open_object(j, NULL);
    put_text(j, "path", record->path);
    json_build_id(j, record->build_id, record->build_id_bytes);
    put_number(j, "processes", o->processes);
    put_flag(j, "checked", record->native == NATIVE_NOT);
    if (record->text_bytes > 0)
        put_number(j, "bytes", record->text_bytes);
    if (record->native == NATIVE_NOT) {
        put_number(j, "checked_bytes", record->text_bytes - object_native_bytes(record));
        print_parts(j, record);
    } else {
        put_text(j, "native", native_code(record->native));
        put_flag(j, "started_by_exec", o->is_of_exec);
    }
    close_object(j);
}

static void print_time(struct json *j, const struct access_time *t)
{
    open_object(j, "access_time");
    put_number(j, "copies", t->copies);
    put_number(j, "native", t->native);
    put_number(j, "elsewhere", t->elsewhere);
    open_array(j, "hottest");
    for (uint32_t i = 0; i < ACCESS_TIME_HOTTEST && t->hottest[i].samples > 0; i++) {
        open_object(j, NULL);
        put_text(j, "function", t->hottest[i].function);
        put_text(j, "object", t->hottest[i].object);
        put_number(j, "samples", t->hottest[i].samples);
        close_object(j);
    }
    close_array(j);
    close_object(j);
}

void json_objects(struct json *j, const struct report *r)
{
    if (r->object_count == 0)
        return;
    open_array(j, "objects");
    for (uint32_t i = 0; i < r->object_count; i++)
        print_object(j, &r->objects[i]);
    close_array(j);
    if (r->access_time && !*r->access_time->why)
        print_time(j, r->access_time);
}
