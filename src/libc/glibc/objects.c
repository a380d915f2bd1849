/*
 * objects.c - _dl_find_object (glibc 2.35): the object around an address, without a lock.
 */
#include "libc.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

typedef int find_object_fn(void *pc, struct dl_find_object *out);

void *libc_finder(void)
{
    return dlvsym(RTLD_DEFAULT, LIBC_FINDER, "GLIBC_2.35");
}

bool libc_find_object(void *finder, uintptr_t pc, struct object *out)
{
    struct dl_find_object found;
    find_object_fn *find;
    memcpy(&find, &finder, sizeof find);
    if (find((void *)pc, &found) != 0)
        return false;
    const struct link_map *map = found.dlfo_link_map;
    *out = (struct object){.start = (uintptr_t)found.dlfo_map_start,
                           .end = (uintptr_t)found.dlfo_map_end,
                           .bias = map->l_addr,
                           .index = found.dlfo_eh_frame,
                           .path = map->l_name,
                           .handle = map};
    return true;
}
