/*
 * fill_word.h - the words that blocks are filled with so that a pointer read from one names its block.
 *
 *   bits 56 to 63   a tag: a freed block, or a new one that was not written since
 *   bits  0 to 55   the address of the block's first byte, 7 bits in each byte, and there bit 7 is set
 *
 * - The bits 47 to 63 of a word differ, so it is not a canonical address: its use faults.  So does the
 *   use of its lower 48 bits, extended by zeros or by bit 47.
 * - No byte is less than 0x80.  So each NUL, ASCII character or small number that is written to a freed
 *   block changes it, whatever its address.
 *
 * The words are laid out from the block's first byte.  All functions are pure.
 */
#ifndef RTCHECK_FILL_WORD_H
#define RTCHECK_FILL_WORD_H

#include <stdbool.h>
#include <stdint.h>

#define FILL_OF_BLOCK 256 /* in place of a fill byte; since minor version 15 */
#define FILL_TAG_SHIFT 56
#define FILL_TAG_FREED 0xdeull
#define FILL_TAG_NEW 0xb1ull
#define FILL_HIGH_BITS 0x80808080808080ull /* of the bytes that hold the address */

/* The lower 49 bits of the address in 7 bytes.  Three steps: each halves the groups of bits. */
static inline uint64_t fill_word_spread(uint64_t address)
{
    uint64_t upper = address & 0x1fffff0000000ull; /* 28 and 21 bits */
    uint64_t x = address + (upper << 4) - upper;
    x += (x & 0x0fffc0000fffc000ull) * 3; /* groups of 14 */
    return x + (x & 0x3f803f803f803f80ull);
}

static inline uint64_t fill_word_of(uint64_t tag, uint64_t address)
{
    return tag << FILL_TAG_SHIFT | FILL_HIGH_BITS | fill_word_spread(address);
}

/* Is it a word with this tag, or near one?  The bytes that change only by more than 2^32 count. */
static inline bool fill_word_is_near(uint64_t value, uint64_t tag)
{
    const uint64_t upper = ~0ull << 32 & (FILL_HIGH_BITS | 0xffull << FILL_TAG_SHIFT);
    return (value & upper) == (tag << FILL_TAG_SHIFT | (upper & FILL_HIGH_BITS));
}

/* The address in a word; 0: the value is not such a word, whatever its tag. */
static inline uint64_t fill_word_address(uint64_t value)
{
    uint64_t x = value & ((1ull << FILL_TAG_SHIFT) - 1);
    if ((x & FILL_HIGH_BITS) != FILL_HIGH_BITS)
        return 0;
    x &= ~FILL_HIGH_BITS;
    x = (x & 0x007f007f007f007full) | (x & 0x7f007f007f007f00ull) >> 1;
    x = (x & 0x00003fff00003fffull) | (x & 0x3fff00003fff0000ull) >> 2;
    return (x & 0x0fffffffull) | (x & 0x0fffffff00000000ull) >> 4;
}

#endif
