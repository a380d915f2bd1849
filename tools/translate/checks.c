/* checks.c - how one access is checked: the registers that its check uses, and what it compares. */
#include "format/bits.h"
#include "translate_priv.h"

/* Registers that a callee may change are dead more often. */
static const int8_t preferred[] = {RAX, RCX, RDX, RSI, RDI, R8, R9, R10,
                                   R11, RBX, RBP, 12,  13,  14, 15};

static uint32_t address_registers(const struct operand *o)
{
    return (o->base == NO_REGISTER ? 0 : BIT(o->base)) |
           (o->index == NO_REGISTER ? 0 : BIT(o->index));
}

static int8_t first_outside(uint32_t used)
{
    for (unsigned n = 0; n < countof(preferred); n++)
        if (!(used & BIT(preferred[n])))
            return preferred[n];
    return NO_REGISTER;
}

/*
 * The scratch register is not part of the address, which the cold part computes again.  Flags are
 * saved in rax, where the address may need it until then.
 */
void check_plan(struct check *k, const struct operand *o, uint32_t live)
{
    uint32_t address = address_registers(o);
    unsigned bytes = o->bytes;

    k->saves_flags = (live & FLAGS) != 0;
    k->saves_rax = k->saves_flags && ((live | address) & BIT(RAX));
    uint32_t never = address | (k->saves_flags ? BIT(RAX) : 0);
    k->scratch = first_outside(live | never);
    k->spills = k->scratch == NO_REGISTER;
    if (k->spills)
        k->scratch = first_outside(never);
    k->window = (uint8_t)((bytes + 7) / 8);
    k->mask = bytes >= 8 ? 7 : (uint8_t)(bytes - 1);
}
