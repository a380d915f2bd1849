/* aligned_move.h - AArch64 has no moves that need an aligned address. */
#ifndef ALIGNED_MOVE_H
#define ALIGNED_MOVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALIGNED_MOVE_BYTES 16u

struct aligned_move {
    bool is_store;
};

static inline bool aligned_move_at(const uint8_t *code, size_t room, struct aligned_move *out)
{
    return code && room && out && false;
}

static inline void aligned_move_do(void *context, const struct aligned_move *m, void *at)
{
    (void)context, (void)m, (void)at;
}

#endif
