/* test_liveness.c - registers and flags across branches, calls and returns. */
#include "made_code.h"

static void at_a_return_the_abi_keeps_results_and_preserved_registers(void **state)
{
    struct made m;

    (void)state;
    MAKE(&m, "\x90\xc3", 2); /* nop; ret */
    make_live(&m);
    assert_int_equal(made_live(&m, 0), BIT(RAX) | BIT(RDX) | BIT(RBX) | BIT(RSP) | BIT(RBP) |
                                           BIT(12) | BIT(13) | BIT(14) | BIT(15));
    unmake(&m);
}

/* gcc's -fipa-ra: a caller keeps a value in a register that its callee does not change. */
static void what_a_direct_caller_needs_is_live_in_the_callee(void **state)
{
    struct made m;

    (void)state;
    /* call 1f; mov %r8,%rax; ret; 1: nop; ret */
    MAKE(&m, "\xe8\x04\x00\x00\x00\x4c\x89\xc0\xc3\x90\xc3", 9, 2);
    make_live(&m);
    assert_true(made_live(&m, 9) & BIT(R8));
    assert_true(made_live(&m, 0) & BIT(R8));
    assert_false(made_live(&m, 9) & (BIT(R9) | FLAGS));
    unmake(&m);
}

/* Assembly returns in any register, and in flags. */
static void results_of_another_convention_are_live_at_the_return(void **state)
{
    struct made m;

    (void)state;
    /* call 1f; jc .+0; mov %r9,%rax; ret; 1: jmp 2f; 2: mov $1,%r9d; stc; ret */
    MAKE(&m, "\xe8\x06\x00\x00\x00\x72\x00\x4c\x89\xc8\xc3\xeb\x00\x41\xb9\x01\x00\x00\x00\xf9\xc3",
         11, 2, 8);
    make_live(&m);
    assert_true(made_live(&m, 20) & BIT(R9));
    assert_true(made_live(&m, 20) & FLAGS);
    assert_true(made_live(&m, 11) & FLAGS); /* stc keeps the other flags */
    assert_false(made_live(&m, 11) & BIT(R9));
    unmake(&m);
}

static void arguments_are_live_at_calls_by_pointer(void **state)
{
    struct made m;

    (void)state;
    MAKE(&m, "\xff\xd0\x31\xc0\xc3", 5); /* call *%rax; xor %eax,%eax; ret */
    make_live(&m);
    assert_true(made_live(&m, 0) & BIT(R10));
    assert_false(made_live(&m, 0) & (BIT(R11) | FLAGS));
    unmake(&m);
}

static void a_tls_descriptor_preserves_all_other_registers(void **state)
{
    struct made m;

    (void)state;
    MAKE(&m, "\xff\x10\x4c\x89\xd8\xc3", 6); /* call *(%rax); mov %r11,%rax; ret */
    make_live(&m);
    assert_true(made_live(&m, 0) & BIT(R11));
    unmake(&m);
    MAKE(&m, "\xff\x50\x08\x4c\x89\xd8\xc3", 7); /* call *8(%rax) is by the ABI */
    make_live(&m);
    assert_false(made_live(&m, 0) & BIT(R11));
    unmake(&m);
}

static void targets_of_an_indirect_jump_have_what_is_live_there(void **state)
{
    struct made m;

    (void)state;
    MAKE(&m, "\xff\xe0\x90\x72\x00\xc3", 6); /* jmp *%rax; nop; jc .+0; ret */
    make_live(&m);
    assert_int_equal(made_live(&m, 0), REGISTERS_ALL); /* they are not known */
    m.is_target[1] = true;                             /* the nop */
    free(m.live);
    make_live(&m);
    assert_int_equal(made_live(&m, 0), LIVE_ALL & ~BIT(R11));
    unmake(&m);
}

/* What is live only by unknown code is not live after a call of a function that changes it. */
static void what_a_callee_changes_is_not_live_by_unknown_code(void **state)
{
    struct made m;

    (void)state;
    /* call 1f; jmp *%rax; 1: mov $1,%ecx; nop; ret */
    MAKE(&m, "\xe8\x02\x00\x00\x00\xff\xe0\xb9\x01\x00\x00\x00\x90\xc3", 7, 7);
    make_live(&m);
    assert_false(made_live(&m, 12) & BIT(RCX));
    assert_true(made_live(&m, 12) & BIT(RSI));
    unmake(&m);
    /* The same, but the callee restores rcx: push %rcx; mov $1,%ecx; pop %rcx; ret */
    MAKE(&m, "\xe8\x02\x00\x00\x00\xff\xe0\x51\xb9\x01\x00\x00\x00\x59\xc3", 7, 8);
    make_live(&m);
    assert_true(made_live(&m, 14) & BIT(RCX));
    unmake(&m);
    /* The same, but the caller reads rcx: call 1f; mov %rcx,%rax; ret */
    MAKE(&m, "\xe8\x04\x00\x00\x00\x48\x89\xc8\xc3\xb9\x01\x00\x00\x00\x90\xc3", 9, 7);
    make_live(&m);
    assert_true(made_live(&m, 14) & BIT(RCX));
    unmake(&m);
}

static void all_is_live_before_unknown_code(void **state)
{
    struct made m;

    (void)state;
    /* jmp to 0x100 outside; a function that calls code without an FDE */
    MAKE(&m, "\xe9\xfb\x00\x00\x00\xe8\x01\x00\x00\x00\xc3\xc3", 5, 6);
    make_live(&m);
    assert_int_equal(made_live(&m, 0), LIVE_ALL);
    assert_int_equal(made_live(&m, 5), LIVE_ALL);
    unmake(&m);
}

/* The choice of registers by what is live. */
static void the_check_uses_what_is_not_live(void **state)
{
    struct operand o = {.base = RDI, .index = NO_REGISTER, .bytes = 4, .scale = 1};
    struct check k = {0};

    (void)state;
    check_plan(&k, &o, BIT(RDI) | BIT(RAX));
    assert_int_equal(k.scratch, RCX);
    assert_false(k.spills || k.saves_flags || k.saves_rax);
    k = (struct check){0};
    check_plan(&k, &o, LIVE_ALL);
    assert_int_equal(k.scratch, RCX); /* not rax, which gets the flags */
    assert_true(k.spills && k.saves_flags && k.saves_rax);
    k = (struct check){0};
    o.base = RAX;
    check_plan(&k, &o, FLAGS); /* rax is dead, but the address of the check */
    assert_true(!k.spills && k.saves_flags && k.saves_rax);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_a_return_the_abi_keeps_results_and_preserved_registers),
        cmocka_unit_test(what_a_direct_caller_needs_is_live_in_the_callee),
        cmocka_unit_test(results_of_another_convention_are_live_at_the_return),
        cmocka_unit_test(arguments_are_live_at_calls_by_pointer),
        cmocka_unit_test(a_tls_descriptor_preserves_all_other_registers),
        cmocka_unit_test(targets_of_an_indirect_jump_have_what_is_live_there),
        cmocka_unit_test(what_a_callee_changes_is_not_live_by_unknown_code),
        cmocka_unit_test(all_is_live_before_unknown_code),
        cmocka_unit_test(the_check_uses_what_is_not_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
