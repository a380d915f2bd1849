/*
 * saved_vectors.c - the layout of XSAVE (Intel SDM volume 1, chapter 13).
 */
#include "saved_vectors.h"

#include <assert.h>
#include <cpuid.h>
#include <signal.h>
#include <ucontext.h>

#define XSAVE_LEAF 0xdu /* of cpuid: offset of each component of the saved state */
#define FROM_X87 32u    /* bytes; x87 and SSE registers are adjacent */
#define SSE_END 416u
#define SOFTWARE_BYTES 464u /* offset of the kernel's description of the extended area */
#define HEADER_BYTES 512u   /* offset of the mask of saved components */
#define COMPONENT_AVX 2u

static void add_piece(struct saved_vectors *s, uint32_t from, uint32_t bytes)
{
    s->piece[s->pieces].start = from / sizeof *s->word;
    s->piece[s->pieces++].end = (from + bytes) / sizeof *s->word;
}

/*
 * Vector registers beyond SSE. cpuid runs once for each component: it is slow in a virtual machine.
 */
static void add_extended(struct saved_vectors *s, uint64_t saved, uint32_t area_bytes)
{
    static struct {
        uint32_t bytes, from;
    } component[sizeof s->piece / sizeof s->piece[0] - 1];
    unsigned unused, also_unused;
    for (uint32_t i = COMPONENT_AVX; i < sizeof component / sizeof component[0]; i++) {
        if (!(saved >> i & 1))
            continue;
        if (!component[i].bytes)
            __cpuid_count(XSAVE_LEAF, i, component[i].bytes, component[i].from, unused,
                          also_unused);
        if (component[i].from >= HEADER_BYTES && component[i].bytes <= area_bytes &&
            component[i].from <= area_bytes - component[i].bytes)
            add_piece(s, component[i].from, component[i].bytes);
    }
}

bool vectors_of(const void *context, struct saved_vectors *out)
{
    const ucontext_t *interrupted = context;
    const char *area = (const void *)interrupted->uc_mcontext.fpregs;
    if (!area)
        return false;
    const struct _fpx_sw_bytes *more = (const void *)(area + SOFTWARE_BYTES);
    *out = (struct saved_vectors){.word = (const void *)area};
    add_piece(out, FROM_X87, SSE_END - FROM_X87);
    if (more->magic1 == FP_XSTATE_MAGIC1)
        add_extended(out, *(const uint64_t *)(const void *)(area + HEADER_BYTES),
                     more->extended_size);
    return true;
}

/* ---- resetting ------------------------------------------------------------------------------- */

#define XSTATE_VECTORS 0xe6u /* components: SSE, AVX, AVX-512 and its masks */

/*
 * Reset all vector registers that the processor has: XRSTOR puts each component that is absent from
 * the xsave header into its initial state.  (libc also copies with AVX-512 registers, so resetting
 * SSE is not enough.)
 */
void vectors_wipe(void)
{
    _Alignas(64) struct {
        uint32_t before[6], mxcsr, after[121];
        uint64_t header[8];
    } none = {0};
    unsigned a, b, c, d;
    static_assert(sizeof none == 512 + 64, "SDM, 13.4");
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return;
    __asm__ volatile("stmxcsr %0; xrstor %1"
                     : "+m"(none.mxcsr), "+m"(none)
                     : "a"(XSTATE_VECTORS), "d"(0)
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                       "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}
