/*
 * aligned_move.h - moves of a vector register that fault if their address is not a multiple of 16
 * (movaps, movapd, movdqa, movntps, movntpd, movntdq): recognise one, and carry it out at any address.
 *
 * Compilers emit them where malloc's alignment suffices, and --catch may align a block less.
 */
#ifndef ALIGNED_MOVE_H
#define ALIGNED_MOVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#define ALIGNED_MOVE_BYTES 16u
#define XSTATE_MAGIC 0x46505853u /* in sw_reserved of the saved state: an XSAVE header follows it */
#define XSTATE_MAGIC_AT 464u
#define XSTATE_SAVED_AT 512u
#define XSTATE_SSE 2u

struct aligned_move {
    unsigned vector; /* number of the register */
    bool is_store;
};

/* Is the instruction at `code`, of which `room` bytes can be read, such a move? */
static inline bool aligned_move_at(const uint8_t *code, size_t room, struct aligned_move *out)
{
    size_t i = 0;
    unsigned high = 0;
    bool wide = room > 4 && code[i] == 0x66;
    i += wide;
    if (room > 4 && (code[i] & 0xf0) == 0x40)
        high = code[i++] & 4 ? 8 : 0;
    if (room < i + 3 || code[i] != 0x0f || code[i + 2] >= 0xc0)
        return false;
    uint8_t op = code[i + 1];
    bool is_load = op == 0x28 || (wide && op == 0x6f);
    out->is_store = op == 0x29 || op == 0x2b || (wide && (op == 0x7f || op == 0xe7));
    out->vector = high | (code[i + 2] >> 3 & 7);
    return is_load || out->is_store;
}

/* Move between the interrupted thread's register and `at`. */
static inline void aligned_move_do(void *context, const struct aligned_move *m, void *at)
{
    char *saved = (char *)((ucontext_t *)context)->uc_mcontext.fpregs;
    uint32_t magic;
    uint64_t components;
    void *vector = ((ucontext_t *)context)->uc_mcontext.fpregs->_xmm + m->vector;
    if (m->is_store) {
        memcpy(at, vector, ALIGNED_MOVE_BYTES);
        return;
    }
    memcpy(vector, at, ALIGNED_MOVE_BYTES);
    memcpy(&magic, saved + XSTATE_MAGIC_AT, sizeof magic);
    if (magic != XSTATE_MAGIC)
        return;
    memcpy(&components, saved + XSTATE_SAVED_AT, sizeof components);
    components |= XSTATE_SSE; /* else the kernel restores zeros */
    memcpy(saved + XSTATE_SAVED_AT, &components, sizeof components);
}

#endif
