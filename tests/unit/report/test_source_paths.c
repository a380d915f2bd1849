/*
 * test_source_paths.c - mapping of source paths.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats_priv.h"

static void must_be(const char *maps, const char *root, const char *path, const char *want)
{
    struct print_options how = {.path_maps = maps, .source_root = root};
    char *got = source_path(&how, path);

    if (strcmp(got, want) != 0)
        fail_msg("%s, maps '%s', root '%s': %s, not %s", path, maps ? maps : "", root ? root : "",
                 got, want);
    free(got);
}

static void below_the_root(void **state)
{
    (void)state;
    must_be(NULL, NULL, "/src/a.c", "/src/a.c");
    must_be("", "", "/src/a.c", "/src/a.c");
    must_be("", "/src", "/src/a.c", "a.c");
    must_be("", "/src/", "/src/sub/a.c", "sub/a.c");
    must_be("", "/src", "/src2/a.c", "/src2/a.c");
    must_be("", "/src", "/src", "/src");
    must_be("", "/src", "src/a.c", "src/a.c");
    must_be("", "/", "/src/a.c", "/src/a.c"); /* not a usable root */
}

static void straight(void **state)
{
    (void)state;
    must_be("", "/src", "/src/build/../a.c", "a.c");
    must_be("", "/src", "/src/./x//y/../../a.c", "a.c");
    must_be("", "/src", "/src/x/../../b.c", "/b.c");
    must_be("", "", "/../../b.c", "/b.c");
    must_be("", "", "../b.c", "../b.c");
    must_be("", "", "./b.c", "./b.c");
    must_be("", "", "x/../b.c", "x/../b.c"); /* relative to an unknown directory */
    must_be("", "", "/x/..", "/x/..");       /* not a source */
    must_be("", "", "/a/..b/...c/d", "/a/..b/...c/d");
    must_be("", "", "/a/b/", "/a/b");
    must_be("", "", "", "");
}

static void maps(void **state)
{
    (void)state;
    must_be("/build=/home/me", "", "/build/a.c", "/home/me/a.c");
    must_be("/build/=/home/me/", "/home", "/build/a.c", "me/a.c");
    must_be("/build=/x", "", "/builder/a.c", "/builder/a.c");
    must_be("/none=/y\n/build=/x\n/build=/z", "", "/build/a.c", "/x/a.c"); /* the first match */
    must_be("/build=/x", "", "/build", "/x");
    must_be("/build=", "", "/build/a.c", "/a.c");
    must_be("rel=/abs", "", "rel/a.c", "/abs/a.c");
    must_be("/a=b=c", "", "/a/x", "b=c/x");
    must_be("nothing\n/a=/b", "", "/a/x", "/b/x");
    must_be("/=/root", "", "/a.c", "/root/a.c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(below_the_root),
        cmocka_unit_test(straight),
        cmocka_unit_test(maps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
