/*
 * uninitialised.c - reads of memory that was not written since its allocation: it still holds the words
 * of --malloc-fill=block, of which each names its block (format/fill_word.h).
 *
 * No copies are tracked, and none need be: a copy of such a word, by memcpy or by registers, is still
 * that word.  So a range is searched wherever it is, in a block or in a local variable.  In its own
 * block half a word counts, because its place there is known; elsewhere only a whole, aligned one.
 * Other data are not mistaken for fill: each byte of a word has bit 7 set, and it must decode to the
 * address of a block.
 * What is missed: fewer than 4 bytes, copies of parts of words, and values computed from them.
 */
#include "track_priv.h"
#include "uninitialised.h"
#include "accesses.h"

#include <errno.h>
#include <string.h>

#define HALF_BYTES sizeof(uint32_t)
#define WORD_BYTES sizeof(uint64_t)

struct search {
    uint64_t own; /* the word of the block that contains the range; 0: none */
    uintptr_t own_start;
    struct uninitialised found; /* bytes == 0: nothing so far */
};

/* The block that a word names; 0: it is no fill. */
static uintptr_t block_of_word(uint64_t word)
{
    uintptr_t at = fill_word_address(word);
    bool is_fill = word >> FILL_TAG_SHIFT == FILL_TAG_NEW && at;
    return is_fill && pool_find((const void *)at).verdict == PTR_START ? at : 0;
}

/* Only the first block's bytes are counted. */
static void note(struct search *s, uintptr_t at, uint64_t bytes, uintptr_t block)
{
    if (!s->found.bytes) {
        s->found.first = at;
        s->found.block = block;
    }
    if (s->found.block == block)
        s->found.bytes += bytes;
}

/* Return how many bytes from `data` on, which are those at `at`, were looked at. */
static uint64_t look(struct search *s, const char *data, uintptr_t at, uint64_t left)
{
    uint64_t word = 0, inside = at - s->own_start;
    uint32_t half;
    memcpy(&half, data, HALF_BYTES);
    if (s->own && half == (uint32_t)(s->own >> inside % WORD_BYTES * 8)) {
        note(s, at, HALF_BYTES, s->own_start);
        return HALF_BYTES;
    }
    if (inside % WORD_BYTES || left < WORD_BYTES)
        return HALF_BYTES;
    memcpy(&word, data, WORD_BYTES);
    uintptr_t block = block_of_word(word);
    if (block)
        note(s, at, WORD_BYTES, block);
    return block ? WORD_BYTES : HALF_BYTES;
}

/*
 * Search the words that begin in `bytes` bytes at `data`, which are those at `at`, and end in `readable`
 * ones. Steps of 4 bytes, from the block's start if there is one.
 */
static void search(struct search *s, const char *data, uintptr_t at, uint64_t bytes,
                   uint64_t readable)
{
    uint64_t i = (s->own_start - at) % HALF_BYTES;
    while (i < bytes && i + HALF_BYTES <= readable)
        i += look(s, data + i, at + i, readable - i);
}

static struct search begin(const void *p, uint64_t bytes)
{
    struct search s = {.found = {.start = (uintptr_t)p, .length = bytes}};
    struct found f = pool_find(p);
    if ((f.verdict == PTR_START || f.verdict == PTR_INSIDE) && !slab_is_unrecorded(&f)) {
        s.own_start = (uintptr_t)p - f.offset;
        s.own = fill_word_of(FILL_TAG_NEW, s.own_start);
    }
    return s;
}

static void end(struct search *s, uint32_t entry, const struct entry *at)
{
    int saved = errno;
    struct section section;
    uint64_t left = s->found.start + s->found.length - s->found.first;
    if (!s->found.bytes)
        return;
    if (s->found.bytes > left) /* the last word ends beyond the read */
        s->found.bytes = left;
    if (section_begin(&section)) {
        struct error_call call = {section.t, section.write_epoch, entry << 8,
                                  stack_put(section.t, at)};
        error_uninitialised(&call, &s->found);
        section_end(&section);
    } else if (section.kind == SECTION_HANDLER) {
        image_count(&image()->errors_unrecorded);
    }
    errno = saved;
}

void uninitialised_search(const void *p, uint64_t bytes, uint32_t entry, const struct entry *at)
{
    /* What is not allowed has been reported. The rest of an aligned word is in the same page. */
    uint64_t word = bytes + WORD_BYTES - 1, allowed = access_allowed((uintptr_t)p, word);
    struct search s = begin(p, bytes);
    search(&s, p, s.found.start, bytes, allowed);
    end(&s, entry, at);
}

/* A part of a block may be inaccessible, too: the program may change the protection of its pages. */
void uninitialised_search_any(const void *p, uint64_t bytes, uint32_t entry, const struct entry *at)
{
    struct search s = begin(p, bytes);
    uint64_t allowed = access_allowed((uintptr_t)p, bytes);
    for (uint64_t done = 0, n; done < allowed && !os_sandboxed(); done += n) {
        const char *part = (const char *)p + done;
        uint64_t readable = PAGE_BYTES - (uintptr_t)part % PAGE_BYTES;
        n = readable < allowed - done ? readable : allowed - done;
        if (!os_is_readable((uintptr_t)part))
            break;
        search(&s, part, (uintptr_t)part, n, readable);
    }
    end(&s, entry, at);
}

void uninitialised_value(uint64_t value, uint32_t entry, const struct entry *at)
{
    uintptr_t block = block_of_word(value);
    struct search s = {.found = {.length = sizeof value}};
    if (block)
        note(&s, 0, sizeof value, block);
    end(&s, entry, at);
}
