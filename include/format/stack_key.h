/*
 * stack_key.h - a number for a stack that is the same in each run of a program, whatever the load
 * addresses.  By it --catch finds the blocks whose allocation an earlier run has recorded.
 *
 * It is a hash of the innermost frames: of each the object that contains it, and the offset there.  It
 * ends before a frame that was interrupted by a signal: that may be anywhere.
 * The object is identified by its build-id, without one by its file name.  All functions are pure.
 */
#ifndef RTCHECK_STACK_KEY_H
#define RTCHECK_STACK_KEY_H

#include <stdint.h>

#define STACK_KEY_FRAMES 32u /* innermost ones that count */
/* Largest distance of a block's end to its guard page: with it, malloc's alignment is kept. */
#define STACK_KEY_GAP_MAX 15u
#define STACK_KEY_INITIAL 0xcbf29ce484222325ull

static inline uint64_t stack_key_byte(uint64_t key, uint8_t byte)
{
    return (key ^ byte) * 0x100000001b3ull;
}

/* The key of an object: an executable or a shared library. */
static inline uint64_t stack_key_object(const uint8_t *build_id, uint32_t bytes, const char *path)
{
    uint64_t key = STACK_KEY_INITIAL;
    const char *name = path;
    for (const char *s = path; *s; s++)
        if (*s == '/')
            name = s + 1;
    for (uint32_t i = 0; i < bytes; i++)
        key = stack_key_byte(key, build_id[i]);
    for (; !bytes && *name; name++)
        key = stack_key_byte(key, (uint8_t)*name);
    return key;
}

/*
 * Add the next frame, outwards.  Code outside of all objects, such as a JIT compiler's, is at another
 * address in each run: then object and offset are 0.
 */
static inline uint64_t stack_key_add(uint64_t key, uint64_t object, uint64_t offset)
{
    key = (key ^ object) * 0x9e3779b97f4a7c15ull;
    key = (key ^ key >> 32 ^ offset) * 0x9e3779b97f4a7c15ull;
    return key ^ key >> 29;
}

#endif
