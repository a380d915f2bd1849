/*
 * chunk.c - blocks of glibc's own allocator.  Programs get them from libc's functions that were
 * called before us, and from libraries that were bound to libc's malloc (RTLD_DEEPBIND).
 */
#include "libc.h"

/*
 * A chunk of glibc's malloc begins two words before the block; its second word is its size with
 * three flags.
 */
#define CHUNK_BYTES 16u
#define CHUNK_MAPPED 2u /* IS_MMAPPED: it has pages of its own */
#define CHUNK_ARENA 4u  /* NON_MAIN_ARENA: of another arena than main's */
#define CHUNK_FLAGS 7u
#define CHUNK_BYTES_MIN 32u
#define ARENA_ALIGN (64ull << 20)
#define ARENA_HEAD_BYTES 32u

bool libc_is_chunk(uintptr_t at, uintptr_t start, uintptr_t end, bool is_break)
{
    if (at % CHUNK_BYTES || at - start < CHUNK_BYTES)
        return false;
    uintptr_t chunk = at - CHUNK_BYTES;
    uint64_t word = *(const uint64_t *)(chunk + 8), bytes = word & ~(uint64_t)CHUNK_FLAGS;
    if (bytes < CHUNK_BYTES_MIN || bytes % CHUNK_BYTES || bytes > end - chunk)
        return false;
    if (word & CHUNK_MAPPED) {
        uint64_t before = *(const uint64_t *)chunk;
        return before <= chunk - start && (chunk - before) % PAGE_BYTES == 0 &&
               (before + bytes) % PAGE_BYTES == 0;
    }
    if (word & CHUNK_ARENA) { /* its arena's heap_info is at the start of an aligned region */
        uintptr_t head = at & ~(uintptr_t)(ARENA_ALIGN - 1);
        return head == start && *(const uintptr_t *)head % CHUNK_BYTES == 0 &&
               *(const uintptr_t *)head != 0;
    }
    return is_break;
}
