/* Functions in assembler whose CFA is no plain stack pointer or rbp: cfa_asm.S. */
#include "deep.h"

/* Each calls f(argument). */
void cfa_in_rbx(work *f, void *argument);
void cfa_in_r12(work *f, void *argument);
void cfa_in_r15_far(work *f, void *argument);
void cfa_by_expression(work *f, void *argument);
void cfa_by_expression_of_rbx(work *f, void *argument);
void rbp_saved_by_expression(work *f, void *argument);
void rbp_in_another_register(work *f, void *argument);
void remembered_state(work *f, void *argument);
void large_offsets(work *f, void *argument);

static void (*const entry[])(work *, void *) = {
    cfa_in_rbx,
    cfa_in_r12,
    cfa_in_r15_far,
    cfa_by_expression,
    cfa_by_expression_of_rbx,
    rbp_saved_by_expression,
    rbp_in_another_register,
    remembered_state,
    large_offsets,
};
#define SHAPES (sizeof entry / sizeof entry[0])

static unsigned visits;

struct way {
    unsigned shape, levels;
};

/* Changes every register that a function has to preserve, and allocates. */
static void bottom(void *unused)
{
    (void)unused;
    visits++;
    churn(1);
    __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15");
    churn(1);
}

static void pass(void *argument)
{
    struct way w = *(struct way *)argument;
    __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15");
    churn(1);
    if (w.levels) {
        struct way next = {(w.shape * 7 + 3) % SHAPES, w.levels - 1};
        entry[w.shape](pass, &next);
    } else {
        entry[w.shape](bottom, NULL);
    }
    churn(1);
}

int main(void)
{
    for (unsigned i = 0; i < 12 * SHAPES; i++) {
        struct way w = {i % SHAPES, i % 5};
        dive(i % 4 + 2, pass, &w);
    }
    printf("cfa: %u visits\n", visits);
    return 0;
}
