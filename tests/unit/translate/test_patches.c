/* test_patches.c - jumps at the entries of the original text: their forms, and where they lead. */
#include "made_code.h"

static struct made m;
static struct emission e;
static struct patches p;
static const struct translation how = {.distance = 0x100000, .spill = SPILL_DEFAULT};

static void patch(uint32_t targets)
{
    for (uint32_t n = 0; n < m.code.count; n++)
        m.is_target[n] = targets >> n & 1;
    make_live(&m);
    e = (struct emission){.object = &m.object,
                          .functions = &m.functions,
                          .code = &m.code,
                          .live = m.live,
                          .is_target = m.is_target,
                          .how = &how};
    emit(&e);
    patches_make(&p, &e, m.is_target);
}

static void done(void)
{
    free(p.at);
    emission_free(&e);
    unmake(&m);
}

/* Does a patch of 5 bytes lead to the copy of this instruction? */
static void assert_leads_to(const struct plan_patch *patch, uint32_t n)
{
    int32_t distance;

    assert_int_equal(patch->bytes, 5);
    assert_int_equal(patch->code[0], 0xe9);
    memcpy(&distance, patch->code + 1, 4);
    assert_int_equal((int64_t)patch->original + 5 + distance, how.distance + e.copy_of[n]);
}

static void a_jump_where_there_is_room(void **state)
{
    (void)state;
    MAKE(&m, "\x90\x90\x90\x90\x90\xc3", 6);
    patch(1);
    assert_int_equal(p.count, 1);
    assert_int_equal(p.at[0].original, 0);
    assert_leads_to(&p.at[0], 0);
    done();
}

static void a_short_jump_to_a_jump_nearby(void **state)
{
    (void)state;
    /* The targets are the first byte and the third. */
    MAKE(&m, "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\xc3", 13);
    patch(5);
    assert_int_equal(p.count, 3);
    assert_int_equal(p.jumps, 1);
    assert_int_equal(p.short_jumps, 1);
    assert_int_equal(p.at[0].bytes, 2);
    assert_int_equal(p.at[0].code[0], 0xeb);
    assert_leads_to(&p.at[1], 2);
    assert_int_equal(2 + p.at[0].code[1], p.at[2].original);
    assert_leads_to(&p.at[2], 0);
    done();
}

static void a_trap_without_room(void **state)
{
    (void)state;
    MAKE(&m, "\xc3\xc3\x90\x90\x90\x90\xc3", 7);
    patch(3);
    assert_int_equal(p.traps, 1);
    assert_int_equal(p.at[0].bytes, 1);
    assert_int_equal(p.at[0].code[0], 0xcc);
    assert_leads_to(&p.at[1], 1);
    done();
}

/* Code without an FDE is kept, nops between functions are not. */
static void padding_is_room_and_other_code_is_not(void **state)
{
    (void)state;
    MAKE(&m, "\xc3\x90\x90\x90\x90", 1);
    patch(1);
    assert_int_equal(p.jumps, 1);
    done();
    MAKE(&m, "\xc3\x90\x90\x90\xc3", 1);
    patch(1);
    assert_int_equal(p.traps, 1);
    done();
}

static void native_functions_are_not_patched(void **state)
{
    (void)state;
    MAKE(&m, "\x90\x90\x90\x90\x90\x06\xc3", 7);
    patch(1);
    assert_int_equal(p.count, 0);
    assert_int_equal(e.out.bytes, 0);
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_jump_where_there_is_room),
        cmocka_unit_test(a_short_jump_to_a_jump_nearby),
        cmocka_unit_test(a_trap_without_room),
        cmocka_unit_test(padding_is_room_and_other_code_is_not),
        cmocka_unit_test(native_functions_are_not_patched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
