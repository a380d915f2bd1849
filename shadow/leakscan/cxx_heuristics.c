/*
 * cxx_heuristics.c - interior pointers that count as pointers to the start of a block.
 *
 *   new T[n] with a destructor   | n | T T T ...      to the first T.  The cookie n has 8 bytes, or
 *                                                     as many as T's alignment.  With n = 0 the
 *                                                     pointer is past the end of the block
 *   a second base class          | table | ... | table | ...   to the second table
 *   std::string before C++11     | length | capacity | references | characters ... |   to those
 *   an allocator's size header   | size | ...          8 or 16 bytes, counted in the size or not
 *
 * All are recognised by the content of the block, because a container may have allocated it.  Each
 * check requires the exact values that a compiler or library writes, so a block of zeros matches
 * none.
 */
#include "leakscan_priv.h"

#define STRING_HEADER 24u

static bool is_array(const struct reach_scan *r, const struct reach_block *b,
                     const reach_word *words, uint64_t inside)
{
    if (!is_pow2(inside))
        return false;
    if (inside > 16 && word_family(reach_word_of(r, b)) != FAMILY_NEW_ARRAY_ALIGNED)
        return false;
    uint64_t count = words[inside / 8 - 1];
    return b->request == inside ? count == 0 : count && (b->request - inside) % count == 0;
}

bool reach_is_empty_array(const struct reach_scan *r, const struct reach_block *b, uint64_t inside)
{
    if (inside != b->request || inside % 8 != 0)
        return false;
    enum block_family family = word_family(reach_word_of(r, b));
    return (family == FAMILY_NEW_ARRAY || family == FAMILY_NEW_ARRAY_ALIGNED) &&
           is_array(r, b, reach_memory(b->start), inside);
}

static bool is_string(const struct reach_block *b, const reach_word *words, uint64_t inside)
{
    if (inside != STRING_HEADER || words[0] > words[1])
        return false;
    for (uint64_t width = 1; width <= 4; width *= 2) { /* char, char16_t, wchar_t */
        uint64_t bytes = b->request - STRING_HEADER;
        if (bytes % width == 0 && words[1] == bytes / width - 1)
            return true;
    }
    return false;
}

static bool has_size(const struct reach_block *b, const reach_word *words, uint64_t inside)
{
    return (inside == 8 || inside == 16) &&
           (words[0] == b->request || words[0] == b->request - inside);
}

static bool is_base(const struct reach_rules *rules, const struct reach_block *b,
                    const reach_word *words, uint64_t inside)
{
    return rules->is_table && b->request - inside >= 8 && rules->is_table(rules->about, words[0]) &&
           rules->is_table(rules->about, words[inside / 8]);
}

bool reach_like_start(const struct reach_scan *r, const struct reach_block *b, uint64_t inside)
{
    if (r->rules.strict || inside % 8 != 0 || b->start % 8 != 0)
        return false;
    const reach_word *words = reach_memory(b->start);
    return is_array(r, b, words, inside) || is_string(b, words, inside) ||
           has_size(b, words, inside) || is_base(&r->rules, b, words, inside);
}
