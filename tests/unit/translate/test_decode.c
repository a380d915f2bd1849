/* test_decode.c - what single instructions do with registers, flags and memory. */
#include "made_code.h"

/* clang-format off */
#define B(code) code, sizeof code - 1
static const struct row {
    const char *text, *bytes;
    uint32_t count;
    uint32_t use, set;
    enum flow flow;
    enum access access;
    unsigned size, kind;
} rows[] = {
    {"mov (%rdi),%eax", B("\x8b\x07"), BIT(RDI), BIT(RAX), FLOW_NEXT, ACCESS_CHECKED, 4, PLAN_READ},
    {"mov (%rdi),%ax: keeps the other bits", B("\x66\x8b\x07"), BIT(RDI), 0, FLOW_NEXT, ACCESS_CHECKED, 2, PLAN_READ},
    {"mov %ah,(%rsi,%rbx,2)", B("\x88\x24\x5e"), BIT(RAX) | BIT(RSI) | BIT(RBX), 0, FLOW_NEXT, ACCESS_CHECKED, 1, PLAN_WRITE},
    {"add %rcx,8(%r12)", B("\x49\x01\x4c\x24\x08"), BIT(RCX) | BIT(12), FLAGS, FLOW_NEXT, ACCESS_CHECKED, 8, PLAN_READ | PLAN_WRITE},
    {"inc %eax: keeps the carry", B("\xff\xc0"), BIT(RAX), BIT(RAX), FLOW_NEXT, ACCESS_NONE, 0, 0},
    {"adc %eax,%ecx", B("\x11\xc1"), BIT(RAX) | BIT(RCX) | FLAGS, BIT(RCX) | FLAGS, FLOW_NEXT, ACCESS_NONE, 0, 0},
    {"xor %edx,%edx", B("\x31\xd2"), 0, BIT(RDX) | FLAGS, FLOW_NEXT, ACCESS_NONE, 0, 0},
    {"xor %dx,%dx", B("\x66\x31\xd2"), BIT(RDX), FLAGS, FLOW_NEXT, ACCESS_NONE, 0, 0},
    {"shl %cl,%eax: perhaps by 0", B("\xd3\xe0"), BIT(RAX) | BIT(RCX), BIT(RAX), FLOW_NEXT, ACCESS_NONE, 0, 0},
    {"shl $3,%rax", B("\x48\xc1\xe0\x03"), BIT(RAX), BIT(RAX) | FLAGS, FLOW_NEXT, ACCESS_NONE, 0, 0},
    {"shl $32,%eax: by 0", B("\xc1\xe0\x20"), BIT(RAX), BIT(RAX), FLOW_NEXT, ACCESS_NONE, 0, 0},
    {"cmovne (%rdi),%rax", B("\x48\x0f\x45\x07"), BIT(RDI) | FLAGS, 0, FLOW_NEXT, ACCESS_CHECKED, 8, PLAN_READ},
    {"bsf %rcx,%rbx: perhaps of 0", B("\x48\x0f\xbc\xd9"), BIT(RCX), FLAGS, FLOW_NEXT, ACCESS_NONE, 0, 0},
    {"pushf", B("\x9c"), BIT(RSP) | FLAGS, BIT(RSP), FLOW_NEXT, ACCESS_NONE, 0, 0},
    {"lahf", B("\x9f"), FLAGS, 0, FLOW_NEXT, ACCESS_NONE, 0, 0},
    {"push (%rax)", B("\xff\x30"), BIT(RAX) | BIT(RSP), BIT(RSP), FLOW_NEXT, ACCESS_CHECKED, 8, PLAN_READ},
    {"mov 8(%rsp),%rax", B("\x48\x8b\x44\x24\x08"), BIT(RSP), BIT(RAX), FLOW_NEXT, ACCESS_STACK, 8, PLAN_READ},
    {"mov 8(%rip),%rax", B("\x48\x8b\x05\x08\x00\x00\x00"), 0, BIT(RAX), FLOW_NEXT, ACCESS_PC, 8, PLAN_READ},
    {"mov %fs:0,%rax", B("\x64\x48\x8b\x04\x25\x00\x00\x00\x00"), 0, BIT(RAX), FLOW_NEXT, ACCESS_SEGMENT, 8, PLAN_READ},
    {"lea 8(%rdi),%rax", B("\x48\x8d\x47\x08"), BIT(RDI), BIT(RAX), FLOW_NEXT, ACCESS_NONE, 0, 0},
    {"nopw 0(%rax,%rax)", B("\x66\x0f\x1f\x44\x00\x00"), 0, 0, FLOW_NEXT, ACCESS_NONE, 0, 0},
    {"prefetcht0 (%rdi)", B("\x0f\x18\x0f"), BIT(RDI), 0, FLOW_NEXT, ACCESS_NONE, 0, 0},
    {"bt %rax,(%rdi): bits beyond the operand", B("\x48\x0f\xa3\x07"), BIT(RAX) | BIT(RDI), 0, FLOW_NEXT, ACCESS_UNCHECKABLE, 8, PLAN_READ},
    {"vmaskmovps (%rdi),%xmm1,%xmm0", B("\xc4\xe2\x71\x2c\x07"), BIT(RDI), 0, FLOW_NEXT, ACCESS_UNCHECKABLE, 16, PLAN_READ},
    {"mov (%edi),%eax", B("\x67\x8b\x07"), BIT(RDI), BIT(RAX), FLOW_NEXT, ACCESS_UNCHECKABLE, 4, PLAN_READ},
    {"fldt (%rdi)", B("\xdb\x2f"), BIT(RDI), 0, FLOW_NEXT, ACCESS_CHECKED, 10, PLAN_READ},
    {"fxsave (%rdi)", B("\x0f\xae\x07"), BIT(RDI), 0, FLOW_NEXT, ACCESS_UNCHECKABLE, 512, PLAN_WRITE},
    {"movups %xmm0,(%rdi)", B("\x0f\x11\x07"), BIT(RDI), 0, FLOW_NEXT, ACCESS_CHECKED, 16, PLAN_WRITE},
    {"rep movsb: perhaps 0 times", B("\xf3\xa4"), BIT(RCX) | BIT(RSI) | BIT(RDI), 0, FLOW_NEXT, ACCESS_STRING, 1, PLAN_WRITE},
    {"call *8(%rax)", B("\xff\x50\x08"), BIT(RAX) | BIT(RSP), BIT(RSP), FLOW_CALL_BY, ACCESS_CHECKED, 8, PLAN_READ},
    {"jmp *%rcx", B("\xff\xe1"), BIT(RCX), 0, FLOW_JUMP_BY, ACCESS_NONE, 0, 0},
    {"ret", B("\xc3"), BIT(RSP), BIT(RSP), FLOW_RETURN, ACCESS_NONE, 0, 0},
    {"jne", B("\x75\x00"), FLAGS, 0, FLOW_BRANCH, ACCESS_NONE, 0, 0},
    {"jrcxz", B("\xe3\x00"), BIT(RCX), 0, FLOW_BRANCH, ACCESS_NONE, 0, 0},
    {"syscall", B("\x0f\x05"), LIVE_ALL, BIT(RCX) | BIT(R11) | FLAGS, FLOW_KERNEL, ACCESS_NONE, 0, 0},
    {"ud2", B("\x0f\x0b"), LIVE_ALL, 0, FLOW_STOP, ACCESS_NONE, 0, 0},
    {"xend: no branch", B("\x0f\x01\xd5"), LIVE_ALL, 0, FLOW_KERNEL, ACCESS_NONE, 0, 0},
    {"xabort: no branch", B("\xc6\xf8\x01"), LIVE_ALL, 0, FLOW_KERNEL, ACCESS_NONE, 0, 0},
    {"no instruction", B("\x06"), LIVE_ALL, 0, FLOW_BAD, ACCESS_NONE, 0, 0},
};
/* clang-format on */

static void each_instruction(void **state)
{
    uint8_t text[32];
    struct made m;

    (void)state;
    for (const struct row *r = rows; r < rows + countof(rows); r++) {
        memset(text, 0x90, sizeof text);
        memcpy(text, r->bytes, r->count);
        make(&m, text, sizeof text, (const uint32_t[]){sizeof text}, 1);
        const struct instruction *i = made_at(&m, 0);
        if (i->use != r->use || (i->set & ~BIT(RSP)) != (r->set & ~BIT(RSP)) ||
            i->flow != r->flow || i->access != r->access)
            fail_msg("%s: use %x set %x flow %d access %d", r->text, i->use, i->set, i->flow,
                     i->access);
        if (r->access == ACCESS_CHECKED &&
            (i->operand.bytes != r->size || i->operand.kind != r->kind))
            fail_msg("%s: %u bytes, kind %u", r->text, i->operand.bytes, i->operand.kind);
        unmake(&m);
    }
}

static uint32_t state_of(const char *text, uint32_t text_bytes, uint32_t first, uint32_t second)
{
    struct made m;
    uint32_t state;

    make(&m, text, text_bytes, (const uint32_t[]){first, second}, second ? 2 : 1);
    state = m.functions.at[0].state;
    unmake(&m);
    return state;
}

#define STATE(text, first, second) state_of(text, sizeof text - 1, first, second)

static void functions_that_stay_native(void **state)
{
    (void)state;
    assert_int_equal(STATE("\x90\xc3\x90\x90\xc3", 2, 3), PLAN_TRANSLATED);
    assert_int_equal(STATE("\x90\x06\xc3", 3, 0), PLAN_UNDECODABLE);
    assert_int_equal(STATE("\x90\xb8\x00", 3, 0), PLAN_UNDECODABLE); /* crosses the end */
    assert_int_equal(STATE("\xeb\x01\xb8\x00\x00\x00\x00\xc3", 8, 0), PLAN_SPLIT);
    assert_int_equal(STATE("\xb8\x00\x00\x00\x00\xc3\xeb\xfb", 6, 2),
                     PLAN_SPLIT); /* from the other */
    assert_int_equal(STATE("\x90\x90\xc3\x8b\x05\xf7\xff\xff\xff\xc3", 3, 7), PLAN_DATA);
    assert_int_equal(STATE("\xe8\x00\x00\x00\x00\x58\xc3", 7, 0), PLAN_UNMOVABLE);
    assert_int_equal(STATE("\x67\x8b\x05\x00\x00\x00\x00\xc3", 8, 0), PLAN_UNMOVABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_instruction),
        cmocka_unit_test(functions_that_stay_native),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
