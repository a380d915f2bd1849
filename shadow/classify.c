/*
 * classify.c - classify an address within a slab by geometry alone.  The runtime uses it to detect
 * a bad free, and the reporter to explain it.
 */
#include "shadow.h"

struct slot_position classify_in_slab(uint64_t offset, uint32_t slot_bytes, uint32_t slots)
{
    uint64_t slot = offset / slot_bytes;
    if (slot >= slots)
        return (struct slot_position){PTR_UNUSED, slots, 0};
    uint32_t inside = (uint32_t)(offset - slot * slot_bytes);
    return (struct slot_position){inside ? PTR_INSIDE : PTR_START, (uint32_t)slot, inside};
}
