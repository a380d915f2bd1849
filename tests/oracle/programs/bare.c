/* Libraries without unwind tables: the functions of one have frame pointers, the other's have not. */
#include "deep.h"

void framed_enter(unsigned levels, work *f, void *argument);
void frameless_enter(unsigned levels, work *f, void *argument);

static unsigned visits;

static void bottom(void *unused)
{
    (void)unused;
    visits++;
    churn(2);
}

static void through_framed(void *levels)
{
    churn(1);
    framed_enter(*(unsigned *)levels, bottom, NULL);
    churn(1);
}

static void through_frameless(void *levels)
{
    churn(1);
    frameless_enter(*(unsigned *)levels, bottom, NULL);
    churn(1);
}

int main(void)
{
    for (unsigned i = 0; i < 60; i++) {
        unsigned levels = i % 5;
        dive(i % 7 + 6, through_framed, &levels);
        dive(i % 7 + 6, through_frameless, &levels);
        framed_enter(levels, through_framed, &levels);
    }
    printf("bare: %u visits\n", visits);
    return 0;
}
