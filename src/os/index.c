/*
 * index.c - memory of an index; see index.h.
 */
#include "index.h"

#include "os.h"

struct index *index_make(uint32_t slots)
{
    struct index x = {.mask = slots - 1}, *made = os_map(index_bytes(&x));
    if (os_failed(made))
        return NULL;
    made->mask = x.mask;
    return made;
}

uint64_t index_bytes(const struct index *x)
{
    return align_up(sizeof *x + (x->mask + 1ull) * sizeof x->slot[0], PAGE_BYTES);
}

void index_retire(struct index *old)
{
    if (index_bytes(old) > PAGE_BYTES) /* its first page holds the mask */
        os_release((char *)old + PAGE_BYTES, index_bytes(old) - PAGE_BYTES);
}
