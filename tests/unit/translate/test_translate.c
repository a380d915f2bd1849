/* test_translate.c - distances of the copy: all displacements must fit into 32 bits. */
#include <errno.h>

#include "made_code.h"

static int translate_at(int64_t distance)
{
    struct translation how = {.distance = distance, .spill = SPILL_DEFAULT};
    char err[TOOLS_ERROR_BYTES];
    struct plan *p = NULL;
    int bad = translate_object(&p, "/bin/true", &how, err);

    assert_int_equal(p == NULL, bad != 0);
    plan_free(p);
    return bad;
}

static void a_copy_within_reach(void **state)
{
    (void)state;
    assert_int_equal(translate_at(0), 0);
    assert_int_equal(translate_at(1 << 30), 0);
    assert_int_equal(translate_at(-(1ll << 30)), 0);
}

static void a_copy_out_of_reach_or_over_the_text(void **state)
{
    (void)state;
    assert_int_equal(translate_at(1ll << 31), -EFBIG);
    assert_int_equal(translate_at(-(1ll << 31) - (1 << 20)), -EFBIG);
    assert_int_equal(translate_at(1ll << 33), -EFBIG);
    assert_int_equal(translate_at(4096), -EFBIG);
}

static void what_is_no_object(void **state)
{
    struct translation how = {.spill = SPILL_DEFAULT};
    char err[TOOLS_ERROR_BYTES];
    struct plan *p = NULL;

    (void)state;
    assert_int_equal(translate_object(&p, "/dev/null", &how, err), -ENOEXEC);
    assert_int_equal(translate_object(&p, "/nowhere", &how, err), -ENOENT);
    assert_null(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_within_reach),
        cmocka_unit_test(a_copy_out_of_reach_or_over_the_text),
        cmocka_unit_test(what_is_no_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
