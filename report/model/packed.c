/*
 * packed.c - the pack that a run was read from: the folder of its files, and the versions of its
 * sources.
 *
 * The machine of the reader may have other versions of the sources, whose lines would be wrong. So
 * a source file is compared with the digest in the pack when its lines are printed first.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

struct version {
    char *path;
    char digest[REPORT_DIGEST_BYTES]; /* "": not known */
    bool is_compared, is_same;
    UT_hash_handle hh;
};

struct packed {
    char *root;
    struct version *versions;
    uint32_t refused;
    const char *first_refused;
};

void report_use_pack(struct report *r, const char *path, const char *root)
{
    packed_free(r);
    free(r->view.name);
    r->view.name = xalloc(strdup(path)); /* in messages */
    r->packed = xalloc(calloc(1, sizeof *r->packed));
    r->packed->root = xalloc(strdup(root));
    report_find_files(r, "", "");
}

int report_copy_run(const struct report *r, int to)
{
    return view_save(&r->view, to, UINT64_MAX);
}

const char *packed_root(const struct report *r)
{
    return r->packed ? r->packed->root : NULL;
}

static struct version *version_of(struct report *r, const char *path)
{
    size_t bytes = strlen(path);
    struct version *v;

    HASH_FIND(hh, r->packed->versions, path, bytes, v);
    if (v)
        return v;
    v = xalloc(calloc(1, sizeof *v));
    v->path = xalloc(strdup(path));
    HASH_ADD_KEYPTR(hh, r->packed->versions, v->path, bytes, v);
    return v;
}

void report_source_known(struct report *r, const char *path, const char *digest)
{
    struct version *v = version_of(r, path);

    snprintf(v->digest, sizeof v->digest, "%s", digest);
}

bool packed_has_version(struct report *r, const char *path, int fd)
{
    char digest[REPORT_DIGEST_BYTES];
    struct version *v;

    if (!r->packed)
        return true;
    v = version_of(r, path);
    if (v->is_compared)
        return v->is_same;
    v->is_compared = true;
    v->is_same = *v->digest && digest_of_file(fd, digest) == 0 && strcmp(digest, v->digest) == 0;
    if (!v->is_same && r->packed->refused++ == 0)
        r->packed->first_refused = v->path;
    return v->is_same;
}

uint32_t report_sources_refused(const struct report *r, const char **first)
{
    *first = r->packed ? r->packed->first_refused : NULL;
    return r->packed ? r->packed->refused : 0;
}

void packed_free(struct report *r)
{
    struct version *v, *next;

    if (!r->packed)
        return;
    HASH_ITER (hh, r->packed->versions, v, next) {
        HASH_DEL(r->packed->versions, v);
        free(v->path);
        free(v);
    }
    free(r->packed->root);
    free(r->packed);
    r->packed = NULL;
}
