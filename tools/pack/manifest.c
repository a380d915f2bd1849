/*
 * manifest.c - the manifest of a pack, as JSON.
 *
 * It is also for people and scripts: it names the objects that are missing, with the reason.  A
 * reader uses the digests of the sources alone.  A path that is not UTF-8 cannot be in JSON, and is
 * left out: its source is then one that the pack does not know.
 */
#include <errno.h>
#include <string.h>

#include "pack_priv.h"

#define SCHEMA "rtcheck-pack/1"

json_t *manifest_new(const char *run_name)
{
    return json_pack("{s:s, s:s, s:s*, s:[], s:[], s:[]}", "schema", SCHEMA, "rtcheck", RTC_VERSION,
                     "run", run_name, "objects", "debug_files", "sources");
}

static void build_id_put(char out[64], const struct report_object *object)
{
    out[0] = '\0';
    for (uint32_t i = 0; i < object->build_id_bytes && i < 20; i++)
        sprintf(out + 2 * i, "%02x", object->build_id[i]);
}

void manifest_add_object(json_t *manifest, const struct report_object *object, bool is_packed,
                         uint64_t bytes)
{
    char build_id[64];

    build_id_put(build_id, object);
    json_array_append_new(json_object_get(manifest, "objects"),
                          json_pack("{s:s, s:s, s:s, s:b, s:I}", "path", object->path, "build_id",
                                    build_id, "symbols", object->symbols, "packed", is_packed,
                                    "bytes", (json_int_t)bytes));
}

void manifest_add_debug_file(json_t *manifest, const char *path, uint64_t bytes)
{
    json_array_append_new(json_object_get(manifest, "debug_files"),
                          json_pack("{s:s, s:I}", "path", path, "bytes", (json_int_t)bytes));
}

void manifest_add_source(json_t *manifest, const struct report_source *source, bool is_packed)
{
    json_t *row = json_pack("{s:s, s:b}", "path", source->path, "packed", is_packed);

    if (row && *source->digest) {
        json_object_set_new(row, "bytes", json_integer((json_int_t)source->bytes));
        json_object_set_new(row, "mtime", json_integer((json_int_t)source->mtime_s));
        json_object_set_new(row, "xxh128", json_string(source->digest));
    }
    json_array_append_new(json_object_get(manifest, "sources"), row);
}

json_t *manifest_read(const char *text, size_t bytes, char err[TOOLS_ERROR_BYTES])
{
    json_error_t wrong;
    json_t *manifest = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &wrong);
    const char *schema = json_string_value(json_object_get(manifest, "schema"));

    if (manifest && schema && strcmp(schema, SCHEMA) == 0)
        return manifest;
    if (!manifest) /* wrong.text would quote the file, which is not trusted */
        fail(err, -EBADMSG, MANIFEST_NAME ":%d: no JSON", wrong.line);
    else
        fail(err, -EBADMSG, MANIFEST_NAME " has another schema than " SCHEMA);
    json_decref(manifest);
    return NULL;
}

void manifest_apply(const json_t *manifest, struct report *r)
{
    const json_t *source;
    size_t i;

    json_array_foreach(json_object_get(manifest, "sources"), i, source)
    {
        const char *path = json_string_value(json_object_get(source, "path"));
        const char *digest = json_string_value(json_object_get(source, "xxh128"));
        if (path)
            report_source_known(r, path, digest ? digest : "");
    }
}
