/*
 * region_files.c - names of the files that ranges of a process are mapped from.
 *
 * The run file has only devices and inodes. For a running process the names come from
 * /proc/PID/maps. For ended processes they come from the loaded objects: an object's address range
 * gives the device and inode of its file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

struct line {
    uint64_t start, end;
    const char *path; /* owned by a named_file */
};

struct named_file {
    struct file_key {
        uint64_t device, inode;
    } key;
    char *path;
    UT_hash_handle hh;
};

struct region_files {
    struct named_file *files;
    struct line *lines; /* by address */
    uint32_t line_count;
};

static const char *file_add(struct region_files *all, uint64_t device, uint64_t inode,
                            const char *path)
{
    struct file_key key = {device, inode};
    struct named_file *f;

    HASH_FIND(hh, all->files, &key, sizeof key, f);
    if (f)
        return f->path;
    f = xalloc(calloc(1, sizeof *f));
    f->key = key;
    f->path = xalloc(strdup(path));
    HASH_ADD(hh, all->files, key, sizeof f->key, f);
    return f->path;
}

/* "start-end rights offset major:minor inode   path" */
static void line_take(struct region_files *all, char *text)
{
    unsigned long long start, end, major, minor, inode;
    int path = 0;

    text[strcspn(text, "\n")] = '\0';
    if (sscanf(text, "%llx-%llx %*4s %*x %llx:%llx %llu %n", &start, &end, &major, &minor, &inode,
               &path) < 5 ||
        inode == 0 || !text[path])
        return;
    all->lines = grow(all->lines, all->line_count, sizeof *all->lines);
    all->lines[all->line_count++] =
        (struct line){start, end, file_add(all, major << 32 | minor, inode, text + path)};
}

static void read_process_maps(struct region_files *all, uint32_t pid)
{
    char path[64], *text = NULL;
    size_t room = 0;
    FILE *maps;

    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    maps = fopen(path, "re");
    while (maps && getline(&text, &room, maps) > 0)
        line_take(all, text);
    if (maps)
        fclose(maps);
    free(text);
}

static void take_modules(struct region_files *all, struct report *r, struct image *image)
{
    for (uint32_t i = 0; i < image->region_count; i++) {
        const struct map_region *m = &image->regions[i];
        uint32_t module = m->inode ? module_of_number(r, image, 0, m->start) : NO_MODULE;
        if (module != NO_MODULE && m->device != MAP_FILE_UNKNOWN)
            file_add(all, m->device, m->inode, r->modules[module].path);
    }
}

struct region_files *region_files_of(struct report *r, struct image *image)
{
    struct region_files *all = xalloc(calloc(1, sizeof *all));

    if (image_seems_alive(r, image))
        read_process_maps(all, image->pid);
    take_modules(all, r, image);
    return all;
}

static int by_address(const void *at_, const void *line_)
{
    const uint64_t *at = at_;
    const struct line *line = line_;

    return *at < line->start ? -1 : *at >= line->end;
}

const char *region_file(const struct region_files *all, const struct map_region *m)
{
    struct file_key key = {m->device, m->inode};
    const struct line *line = NULL;
    struct named_file *f;

    HASH_FIND(hh, all->files, &key, sizeof key, f);
    if (!f && m->device == MAP_FILE_UNKNOWN && all->line_count > 0)
        line = bsearch(&m->start, all->lines, all->line_count, sizeof *all->lines, by_address);
    return f ? f->path : line ? line->path : NULL;
}

void region_files_free(struct region_files *all)
{
    struct named_file *f, *next;

    HASH_ITER (hh, all->files, f, next) {
        HASH_DEL(all->files, f);
        free(f->path);
        free(f);
    }
    free(all->lines);
    free(all);
}
