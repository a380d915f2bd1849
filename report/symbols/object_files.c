/*
 * object_files.c - the files that the symbols of a run come from: programs and shared objects, and
 * separate files of debugging information.
 *
 * A pack has them below a folder, which is a sysroot for its reader. There a file of debugging
 * information must be where libdwfl looks for it, not where this machine has it (--debug-dir, a
 * cache of debuginfod): below usr/lib/debug by its build-id, or else beside the path of its object
 * (.gnu_debuglink).
 */
#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helper_priv.h"
#include "symbols_priv.h"

#define DEBUG_FOLDER "/usr/lib/debug"

/* ---- in the helper --------------------------------------------------------------------------- */

static char *path_by_id(const unsigned char *id, size_t bytes)
{
    size_t size;
    char *path = NULL;
    FILE *out = xalloc(open_memstream(&path, &size));

    fprintf(out, DEBUG_FOLDER "/.build-id/%02x/", id[0]);
    for (size_t i = 1; i < bytes; i++)
        fprintf(out, "%02x", id[i]);
    fputs(".debug", out);
    fclose(out);
    return xalloc(path);
}

static char *path_beside(const char *object, const char *found)
{
    char *path;

    if (asprintf(&path, DEBUG_FOLDER "%.*s/%s", (int)(base_name(object) - object - 1), object,
                 base_name(found)) < 0)
        path = NULL;
    return xalloc(path);
}

/* NULL: neither the object nor its supplementary file has a build-id. */
static char *path_of(const struct symbols *s, const char *found, const char *object)
{
    const char *separate = NULL, *name;
    const unsigned char *id;
    const void *other_id;
    GElf_Addr where;
    Dwarf_Addr bias;
    int bytes = dwfl_module_build_id(s->module, &id, &where);

    dwfl_module_info(s->module, NULL, NULL, NULL, NULL, NULL, NULL, &separate);
    if (separate && strcmp(separate, found) == 0)
        return bytes > 1 ? path_by_id(id, (size_t)bytes) : path_beside(object, found);
    Dwarf *dwarf = dwfl_module_getdwarf(s->module, &bias);
    ssize_t other = dwarf ? dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &other_id) : 0;
    return other > 1 ? path_by_id(other_id, (size_t)other) : NULL;
}

void debug_files_find(struct report *r, uint32_t module, struct debug_files *out)
{
    struct symbols *s = symbols_of(r, module);

    *out = (struct debug_files){0};
    for (uint32_t i = 0; s && i < s->found_count && out->count < countof(out->at); i++) {
        char *path = path_of(s, s->found[i], r->modules[module].path);
        if (path)
            out->at[out->count++] = (struct debug_file){xalloc(strdup(s->found[i])), path};
    }
}

void debug_files_free(struct debug_files *files)
{
    for (uint32_t i = 0; i < files->count; i++) {
        free(files->at[i].found);
        free(files->at[i].path);
    }
}

/* ---- for packs ------------------------------------------------------------------------------- */

bool report_object(const struct report *r, uint32_t index, struct report_object *out)
{
    for (; index < r->module_count; index++) {
        const struct module *module = &r->modules[index];
        if (module->symbols == SYMBOLS_UNTRIED || module->path[0] != '/')
            continue;
        *out = (struct report_object){.index = index,
                                      .path = module->path,
                                      .build_id = module->build_id,
                                      .build_id_bytes = module->build_id_bytes,
                                      .symbols = module_symbols_text(module->symbols),
                                      .is_read = module->symbols >= SYMBOLS_EXPORTED};
        return true;
    }
    return false;
}

int report_debug_files(struct report *r, uint32_t index,
                       int (*each)(int fd, const char *path, void *arg), void *arg)
{
    struct debug_files files;
    int got = 0;

    debug_files_query(r, index, &files);
    for (uint32_t i = 0; i < files.count && !got; i++) {
        const struct debug_file *f = &files.at[i];
        int fd = f->found && f->path ? debug_file_open(r, f->found) : -1;
        if (fd < 0)
            continue;
        got = each(fd, f->path, arg);
        close(fd);
    }
    debug_files_free(&files);
    return got;
}
