/*
 * print_json_maps.c - mappings and marks in the JSON report.
 */
#include "print_json_priv.h"

void json_mappings(struct json *j, const struct report *r)
{
    struct map_totals t = map_totals(r);

    if (t.processes == 0)
        return;
    open_object(j, "mappings");
    put_number(j, "processes", t.processes);
    put_number(j, "mapped", t.mapped);
    put_number(j, "unmapped", t.unmapped);
    put_number(j, "unseen", t.unseen);
    put_number(j, "made_anew", t.rebuilt);
    put_number(j, "bytes", t.bytes);
    put_number(j, "peak_bytes", t.peak_bytes);
    put_number(j, "uncompared", t.uncompared);
    open_object(j, "behind");
    put_number(j, "libraries", t.objects);
    put_number(j, "stacks", t.stacks);
    put_number(j, "others", t.others);
    put_number(j, "gone", t.gone);
    put_number(j, "changed", t.changed);
    close_object(j);
    close_object(j);
}

void json_marks(struct json *j, const struct image *image)
{
    if (image->mark_count == 0)
        return;
    open_array(j, "at_marks");
    for (uint32_t i = 0; i < image->mark_count; i++) {
        const struct mark_record *m = &image->mark_records[i];
        open_object(j, NULL);
        put_number(j, "mark", m->mark);
        put_time(j, "time", m->time_ns);
        put_number(j, "allocs", m->allocs);
        put_number(j, "blocks", m->blocks);
        put_number(j, "bytes", m->bytes);
        put_number(j, "mapped_bytes", m->mapped_bytes);
        close_object(j);
    }
    close_array(j);
}
