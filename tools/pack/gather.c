/*
 * gather.c - the members of the pack of a run: the files of this machine that its names come from.
 *
 * Only files whose symbols were read are packed, so a path in an untrusted run file selects no
 * other file of the user who packs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pack_priv.h"

struct gathering {
    struct pack *pack;
    json_t *manifest;
    bool with_sources;
};

/* The member duplicates the descriptor.  -EEXIST: the pack has one of this name. */
static int member_add(struct pack *p, const char *folder, const char *path, int fd, uint64_t *bytes)
{
    struct member *grown;
    struct stat st;
    char *name;
    int copy;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (asprintf(&name, "%s%s", folder, path) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < p->count; i++)
        if (strcmp(p->members[i].name, name) == 0) {
            free(name);
            return -EEXIST;
        }
    grown = reallocarray(p->members, p->count + 1, sizeof *grown);
    if (grown)
        p->members = grown;
    copy = grown ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (copy < 0) {
        free(name);
        return grown ? -errno : -ENOMEM;
    }
    p->members[p->count++] = (struct member){name, copy, (uint64_t)st.st_size};
    *bytes = (uint64_t)st.st_size;
    return 0;
}

static int debug_file_add(int fd, const char *path, void *gathering)
{
    struct gathering *g = gathering;
    uint64_t bytes;
    int bad = member_add(g->pack, ROOT_NAME, path, fd, &bytes);

    if (bad)
        return bad == -EEXIST ? 0 : bad; /* several objects have the same supplementary file */
    manifest_add_debug_file(g->manifest, path, bytes);
    g->pack->debug_files++;
    return 0;
}

static int object_add(struct gathering *g, struct report *r, const struct report_object *object)
{
    int fd = object->is_read ? report_object_open(r, object->index) : -1, bad = 0;
    uint64_t bytes = 0;

    if (fd >= 0) {
        bad = member_add(g->pack, ROOT_NAME, object->path, fd, &bytes);
        close(fd);
    } else {
        fputs("rtcheck: note: not in the pack: ", stderr);
        report_put_name(stderr, object->path);
        fprintf(stderr, " (%s)\n", object->is_read ? "no file" : object->symbols);
    }
    if (bad == -EEXIST) /* another build of the same path: the first one is packed */
        return 0;
    if (bad)
        return bad;
    g->pack->objects += fd >= 0;
    manifest_add_object(g->manifest, object, fd >= 0, bytes);
    return fd < 0 ? 0 : report_debug_files(r, object->index, debug_file_add, g);
}

static int source_add(const struct report_source *source, void *gathering)
{
    struct gathering *g = gathering;
    uint64_t bytes;
    int bad = -ENOENT;

    if (g->with_sources && source->fd >= 0)
        bad = member_add(g->pack, ROOT_NAME, source->path, source->fd, &bytes);
    if (bad && bad != -ENOENT && bad != -EEXIST)
        return bad;
    g->pack->sources += !bad;
    g->pack->digests += *source->digest != '\0';
    manifest_add_source(g->manifest, source, !bad);
    return 0;
}

static int gather(struct gathering *g, struct report *r)
{
    struct report_object object;
    int bad = 0;

    report_names_read(r);
    for (uint32_t i = 0; !bad && report_object(r, i, &object); i = object.index + 1)
        bad = object_add(g, r, &object);
    return bad ? bad : report_sources(r, source_add, g);
}

int pack_gather(struct pack *p, struct report *r, int run, const char *name, bool with_sources,
                char err[TOOLS_ERROR_BYTES])
{
    struct gathering g = {p, manifest_new(name), with_sources};
    uint64_t bytes;
    int bad = g.manifest ? member_add(p, "", RUN_NAME, run, &bytes) : -ENOMEM;

    if (!bad)
        bad = gather(&g, r);
    if (!bad && !(p->manifest = json_dumps(g.manifest, JSON_INDENT(1) | JSON_PRESERVE_ORDER)))
        bad = -ENOMEM;
    json_decref(g.manifest);
    return bad ? fail(err, bad, "the files of the run cannot be read: %s", strerror(-bad)) : 0;
}

void pack_free(struct pack *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        close(p->members[i].fd);
        free(p->members[i].name);
    }
    free(p->members);
    free(p->manifest);
    *p = (struct pack){0};
}
