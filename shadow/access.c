/*
 * access.c - the access model: the state of a range of addresses, by the records of blocks.
 */
#include "access.h"

#include "format/format.h"

static bool is_in_use(const struct access_block *b)
{
    return b->state == BLOCK_LIVE || b->state == BLOCK_INHERITED;
}

static bool is_block(const struct access_block *b)
{
    return b->state != BLOCK_NEVER;
}

static struct access_verdict before(uint64_t at, uint64_t bytes, const struct access_block *b)
{
    uint64_t gap = b->start - at;
    return (struct access_verdict){
        .state = ACCESS_REDZONE, .distance = gap > bytes ? gap - bytes : 0, .is_before = true};
}

static struct access_verdict past_end(uint64_t offset, const struct access_block *b)
{
    bool is_overlap = offset < b->bytes;
    return (struct access_verdict){.state = ACCESS_REDZONE,
                                   .allowed = is_overlap ? b->bytes - offset : 0,
                                   .distance = is_overlap ? 0 : offset - b->bytes};
}

struct access_verdict access_check(uint64_t at, uint64_t bytes, const struct access_block *b)
{
    uint64_t offset = at - b->start;
    if (bytes == 0)
        return (struct access_verdict){.state = ACCESS_ALLOCATED};
    if (!is_block(b))
        return (struct access_verdict){.state = ACCESS_UNALLOCATED};
    if (at < b->start)
        return before(at, bytes, b);
    if (!is_in_use(b))
        return (struct access_verdict){.state = ACCESS_FREED};
    if (offset <= b->bytes && bytes <= b->bytes - offset)
        return (struct access_verdict){.state = ACCESS_ALLOCATED, .allowed = bytes};
    return past_end(offset, b);
}

const struct access_block *access_owner(uint64_t at, uint64_t bytes, const struct access_block *own,
                                        const struct access_block *next)
{
    bool is_inside = is_block(own) && at >= own->start && at - own->start < own->bytes;
    if (is_inside || !next || !is_in_use(next))
        return own;
    if (!is_in_use(own))
        return next;
    return access_check(at, bytes, next).distance < access_check(at, bytes, own).distance ? next
                                                                                          : own;
}
