/*
 * profile_sites.c - live blocks by the stack that allocated them.
 *
 * No sums are maintained: all records are read while the writers are stopped.  Stack numbers are
 * depot nodes, and therefore small.  The sums are in a table indexed by stack number; only pages
 * with used entries become resident.
 */
#include "profile_priv.h"

/* Return true if the block is live, with its stack and size. */
static bool read_live(const struct found *f, const struct block_record *b, uint32_t *stack,
                      uint64_t *bytes)
{
    uint64_t word, stacks;
    if (slab_is_unrecorded(f) || !block_read(b, &word, &stacks) ||
        (word_state(word) != BLOCK_LIVE && word_state(word) != BLOCK_INHERITED))
        return false;
    *stack = (uint32_t)(stacks >> 32);
    *bytes = pool_request(f, b, word);
    return true;
}

static bool add_to_its_own(void *about, const struct found *f, const struct block_record *b)
{
    struct site_sums *all = about;
    uint32_t stack;
    uint64_t bytes;
    if (!read_live(f, b, &stack, &bytes))
        return true;
    struct site_sum *sum = &all->of[stack < all->count ? stack : 0];
    sum->blocks++;
    sum->bytes += bytes;
    return true;
}

bool sites_add_up(struct site_sums *all)
{
    all->count = ((uint64_t)depot_next_chunk() << DEPOT_CHUNK_SHIFT) + 1;
    all->bytes = align_up(all->count * sizeof *all->of, PAGE_BYTES);
    all->of = os_map(all->bytes);
    if (os_failed(all->of))
        return false;
    each_block(true, add_to_its_own, all);
    return true;
}

void sites_drop(struct site_sums *all)
{
    os_unmap(all->of, all->bytes);
}

/* Insert after sites of the same size. */
static uint32_t put_in_order(struct rtc_profile_site *top, uint32_t count,
                             const struct rtc_profile_site *one)
{
    uint32_t at = count;
    while (at > 0 && top[at - 1].bytes < one->bytes)
        at--;
    if (at == RTC_PROFILE_TOP_SITES)
        return count;
    count = count < RTC_PROFILE_TOP_SITES ? count + 1 : count;
    for (uint32_t i = count - 1; i > at; i--)
        top[i] = top[i - 1];
    top[at] = *one;
    return count;
}

uint32_t sites_top(const struct site_sums *all, struct rtc_profile_site top[RTC_PROFILE_TOP_SITES])
{
    uint32_t count = 0;
    for (uint64_t i = 0; i < all->count; i++)
        if (all->of[i].blocks)
            count = put_in_order(
                top, count, &(struct rtc_profile_site){i, all->of[i].blocks, all->of[i].bytes});
    return count;
}

struct one_site {
    uint32_t stack;
    struct site_sum sum;
};

static bool add_if_it_is(void *about, const struct found *f, const struct block_record *b)
{
    struct one_site *one = about;
    uint32_t stack;
    uint64_t bytes;
    if (read_live(f, b, &stack, &bytes) && stack == one->stack) {
        one->sum.blocks++;
        one->sum.bytes += bytes;
    }
    return true;
}

struct site_sum site_add_up(uint32_t stack)
{
    struct one_site one = {.stack = stack};
    each_block(true, add_if_it_is, &one);
    return one.sum;
}
