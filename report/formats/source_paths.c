/*
 * source_paths.c - source paths for readers on another machine: the compiler's path, with prefixes
 * replaced by --path-map, relative to --source-root.
 */
#include <stdlib.h>
#include <string.h>

#include "formats_priv.h"

/*
 * Is `path` the folder of n bytes at `folder`, or below it? Trailing slashes of `folder` are
 * ignored.
 */
static bool is_below(const char *path, const char *folder, size_t n)
{
    while (n > 1 && folder[n - 1] == '/')
        n--;
    return n > 0 && strncmp(path, folder, n) == 0 &&
           (path[n] == '/' || path[n] == '\0' || folder[n - 1] == '/');
}

/* Apply the first map whose prefix matches the path. The caller frees the result. */
static char *mapped(const char *maps, const char *path)
{
    for (const char *map = maps; map && *map; map += strcspn(map, "\n"), map += *map == '\n') {
        size_t all = strcspn(map, "\n"), from = strcspn(map, "=\n");
        char *text;
        if (map[from] != '=' || !is_below(path, map, from))
            continue;
        while (from > 0 && map[from - 1] == '/')
            from--; /* the rest of the path begins with a slash */
        const char *to = strchr(map, '=') + 1;
        size_t to_bytes = (size_t)(map + all - to);
        while (to_bytes > 1 && to[to_bytes - 1] == '/')
            to_bytes--;
        if (asprintf(&text, "%.*s%s", (int)to_bytes, to, path + from) < 0)
            text = NULL;
        return xalloc(text);
    }
    return xalloc(strdup(path));
}

/* Remove "/./", "//" and "/../" from an absolute path, in place. */
static void straighten(char *path)
{
    char *out = path;

    for (const char *at = path; *at == '/';) {
        size_t n = strcspn(at + 1, "/") + 1; /* "/name" */
        if (n == 3 && memcmp(at, "/..", 3) == 0) {
            while (out > path && *--out != '/')
                continue;
        } else if (n > 1 && !(n == 2 && at[1] == '.')) {
            memmove(out, at, n);
            out += n;
        }
        at += n;
    }
    if (out > path)
        *out = '\0';
}

char *source_path(const struct print_options *how, const char *file)
{
    const char *root = how->source_root ? how->source_root : "";
    size_t n = strlen(root);
    char *path = mapped(how->path_maps, file);

    straighten(path);
    while (n > 0 && root[n - 1] == '/')
        n--;
    if (n > 0 && is_below(path, root, n) && path[n] == '/' && path[n + 1])
        memmove(path, path + n + 1, strlen(path + n + 1) + 1);
    return path;
}

struct finding_where finding_where(const struct report *r, const struct finding *f,
                                   const struct print_options *how)
{
    struct source_line line = {0};
    const struct frame *frame = finding_frame(r, f->site, &line);
    const struct module *module =
        !frame || frame->module == NO_MODULE ? NULL : &r->modules[frame->module];

    return (struct finding_where){
        .path = source_path(how, line.file ? line.file
                                 : module  ? module->path
                                           : program_path(r, f->image)),
        .line = line.file && line.line > 0 ? (uint32_t)line.line : 0,
        .function = line.function ? line.function
                    : module      ? base_name(module->path)
                                  : "?",
    };
}
