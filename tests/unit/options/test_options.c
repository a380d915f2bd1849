/*
 * test_options.c - the option parser: grammar of each kind, abbreviations, the canonical text.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/bits.h"
#include "options.h"

#include <cmocka.h> /* last: its fail() differs from ours */

static char err[TOOLS_ERROR_BYTES];

/* Parse `text`; compare the result with its canonical form, or with a part of the error. */
static void check_text(const char *text, const char *canonical, const char *error)
{
    struct options o;
    char got[OPTIONS_TEXT_BYTES];
    options_init(&o);
    int bad = options_from_text(&o, text, err);
    if (error) {
        assert_int_equal(bad, -EINVAL);
        assert_non_null(strstr(err, error));
    } else {
        assert_int_equal(bad, 0);
        assert_int_equal(options_canonical(&o, got, err), 0);
        assert_string_equal(got, canonical);
    }
    options_free(&o);
}

static void texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *canonical, *error;
    } rows[] = {
        {NULL, "", NULL},
        {"", "", NULL},
        {" :: \t\n", "", NULL},
        {"quiet", "quiet=yes", NULL},
        {"quiet=0:keep=true", "quiet=no:keep=yes", NULL},
        {"keep=on quiet=off", "quiet=no:keep=yes", NULL},
        {"quiet:quiet=no", "quiet=no", NULL},
        {"leak_check=summary leak_resolution=med", "leak_check=summary:leak_resolution=med", NULL},
        {"leak_check=definite", NULL, "'definite' is not no, summary, table, yes or full"},
        {"leak_resolution=2", NULL, "'2' is not low, med or high"},
        {"match=64", "match=64", NULL},
        {"match=all", "match=all", NULL},
        {"match=0", NULL, "'0' is not a number from 1 to 64, or all"},
        {"match=65", NULL, "is not a number from 1 to 64, or all"},
        {"rtc_mel_at_exit=verbose", "rtc_mel_at_exit=verbose", NULL},
        {"show_leak_kinds=possible,definite,possible", "show_leak_kinds=definite,possible", NULL},
        {"show_leak_kinds=all", "show_leak_kinds=definite,indirect,possible,reachable", NULL},
        {"show_leak_kinds=biu,mel", "show_leak_kinds=definite,indirect,reachable", NULL},
        {"show_leak_kinds=air:show_leak_kinds=aib", "show_leak_kinds=possible", NULL},
        {"errors_for_leak_kinds=none", "errors_for_leak_kinds=none", NULL},
        {"errors_for_leak_kinds=definite,", NULL, "is not all, none, or some of"},
        {"errors_for_leak_kinds=indirectly", NULL, "is not all, none, or some of"},
        {"pool_size=4k", "pool_size=4096", NULL},
        {"pool-size=4K", "pool_size=4096", NULL},
        {"pool_size=16383p", NULL, "'16383p' is not a size"},
        {"pool_size=17179869183g", "pool_size=18446744072635809792", NULL},
        {"pool_size=17179869184g", NULL, "is not a size"},
        {"pool_size=18446744073709551616", NULL, "is not a size"},
        {"pool_size=-1", NULL, "is not a size"},
        {"pool_size= 1", NULL, "is not a size"},
        {"pool_size=1kk", NULL, "is not a size"},
        {"pool_size=k", NULL, "is not a size"},
        {"pool_size", NULL, "pool-size needs a value"},
        {"malloc_fill=0xAb:free_fill=no", "malloc_fill=0xab:free_fill=no", NULL},
        {"malloc_fill=41", "malloc_fill=0x41", NULL},
        {"free_fill=ff", "free_fill=0xff", NULL},
        {"free_fill=010", "free_fill=0x10", NULL},
        {"free_fill=0", "free_fill=0x00", NULL},
        {"malloc_fill=block", "malloc_fill=block", NULL},
        {"free_fill=blocks", NULL, "is not a byte"},
        {"free_fill=100", NULL, "is not a byte in hexadecimal"},
        {"free_fill=0x", NULL, "is not a byte"},
        {"free_fill=0x-1", NULL, "is not a byte"},
        {"free_fill=0x0xf", NULL, "is not a byte"},
        {"free_fill=yes", NULL, "is not a byte"},
        {"frames=08", "frames=8", NULL},
        {"frames=64", "frames=64", NULL},
        {"frames=0", "frames=0", NULL},
        {"frames=65", NULL, "is not a number from 0 to 64"},
        {"frames=all", NULL, "is not a number from 0 to 64"},
        {"num_callers=64", "num_callers=64", NULL},
        {"num_callers=65", "num_callers=64", NULL},
        {"num_callers=500", "num_callers=64", NULL},
        {"num_callers=501", NULL, "is not a number from 1 to 500"},
        {"num_callers=0", NULL, "is not a number from 1 to 500"},
        {"error_limit=yes", "error_limit=1000", NULL},
        {"error_limit=no", "error_limit=10000", NULL},
        {"error_limit=10001", NULL, "is not a number from 1 to 10000"},
        {"error_limit=0", NULL, "is not a number from 1 to 10000"},
        {"redzone_size=0", "redzone_size=16", NULL},
        {"redzone_size=15", "redzone_size=16", NULL},
        {"redzone_size=4096", "redzone_size=4096", NULL},
        {"redzone_size=4097", NULL, "is not a number of bytes up to 4096"},
        {"redzone_size=auto", "redzone_size=auto", NULL},
        {"guard=all", "guard=all", NULL},
        {"guard=auto", "guard=auto", NULL},
        {"guard=1", "guard=1", NULL},
        {"guard=start", "guard=start", NULL},
        {"guard=0", NULL, "is not no, auto, all, end, start or a number from 1 to 1000000"},
        {"guard_stacks=", "guard_stacks=", NULL},
        {"guard_stacks=0123456789abcdef.e15", "guard_stacks=0123456789abcdef.e15", NULL},
        {"guard_stacks=0123456789abcdef.e15,0123456789abcdef.s0",
         "guard_stacks=0123456789abcdef.e15,0123456789abcdef.s0", NULL},
        {"guard_stacks=0123456789abcdef.e16", NULL, "is not up to 32 stacks as --catch gives them"},
        {"guard_stacks=0123456789abcdef.x1", NULL, "is not up to 32 stacks"},
        {"guard_stacks=0123456789abcde.e1", NULL, "is not up to 32 stacks"},
        {"guard_stacks=0123456789abcdef.e1,", NULL, "is not up to 32 stacks"},
        {"guard_stacks=0123456789abcdef.e+1", NULL, "is not up to 32 stacks"},
        {"rtc_biu_at_exit=verbose", "rtc_biu_at_exit=verbose", NULL},
        {"rtc_biu_at_exit=yes", NULL, "is not on, off or verbose"},
        {"color=never", "color=never", NULL},
        {"color=blue", NULL, "is not auto, always or never"},
        {"error_exitcode=23", "error_exitcode=23", NULL},
        {"error_exitcode=256", NULL, "is not a byte"},
        {"heap=file", "heap=file", NULL},
        {"heap=files", NULL, "is not private or file"},
        {"events=all", "events=all", NULL},
        {"events=some", NULL, "is not calls or all"},
        {"keep=maybe", NULL, "keep: 'maybe' is not yes or no"},
        {"json='a b:c'", "json=\"a b:c\"", NULL},
        {"json=\"it's\":keep", "json=it's:keep=yes", NULL},
        {"json=\"it's a\"", "json=\"it's a\"", NULL},
        {"json='", NULL, "quote without end"},
        {"json=", "json=", NULL},
        {"json=''keep", "json=:keep=yes", NULL},
        {"json=a=b", "json=a=b", NULL},
        {"bogus=1", NULL, "unknown option 'bogus'"},
        {"quie=1", NULL, "unknown option 'quie'"},
        {"quietly=1", NULL, "unknown option 'quietly'"},
        {"=1", NULL, "unknown option ''"},
        {"counters=page-faults:u", NULL,
         "unknown option 'u' (a value with a colon or a space needs quotes)"},
        {"counters='page-faults:u'", "counters=\"page-faults:u\"", NULL},
        {"log\x01=1", NULL, "unknown option 'log?'"},
    };
    for (unsigned i = 0; i < countof(rows); i++)
        check_text(rows[i].text, rows[i].canonical, rows[i].error);
}

/* Parse a command line of up to three words; return the result of options_from_args. */
static int parse(struct options *o, int *rest, const char *a, const char *b, const char *c)
{
    char *argv[] = {(char[]){"rtcheck"}, NULL, NULL, NULL, NULL};
    const char *const words[] = {a, b, c};
    int argc = 1;
    for (unsigned i = 0; i < countof(words) && words[i]; i++)
        argv[argc++] = strdup(words[i]);
    options_init(o);
    int bad = options_from_args(o, argc, argv, rest, err);
    for (int i = 1; i < argc; i++)
        free(argv[i]);
    return bad;
}

static void command_lines(void **state)
{
    (void)state;
    static const struct {
        const char *word[3], *canonical;
        int rest;
        const char *error;
    } rows[] = {
        {{NULL}, "", 1, NULL},
        {{"prog", "--quiet"}, "", 1, NULL},
        {{"--quiet", "prog", "-q"}, "quiet=yes", 2, NULL},
        {{"-q", "prog"}, "quiet=yes", 2, NULL},
        {{"-quiet", "prog"}, "quiet=yes", 2, NULL},
        {{"-qu", "--", "-q"}, "quiet=yes", 3, NULL},
        {{"-h"}, "help=yes", 2, NULL},
        {{"-qq"}, "quiet=yes", 2, NULL},
        {{"--json", "x", "prog"}, "json=x", 3, NULL},
        {{"-js=x", "-memu", "prog"}, "json=x:memuse=yes", 3, NULL},
        {{"--keep", "no"}, "keep=yes", 2, NULL},
        {{"--keep=no", "no"}, "keep=no", 2, NULL},
        {{"--heap", "file"}, "heap=file", 3, NULL},
        {{"--frames", "12"}, "frames=12", 3, NULL},
        {{"--frames=17"}, "frames=17", 2, NULL},
        {{"-frames", "12"}, "num_callers=12", 3, NULL},
        {{"-frames=16"}, "num_callers=16", 2, NULL},
        {{"-frames=17"}, "num_callers=16", 2, NULL},
        {{"-frames", "0"}, "num_callers=1", 3, NULL},
        {{"-frames", "x"}, NULL, 0, "option -frames: 'x' is not a number from 1 to 16"},
        {{"-num-callers=17"}, "num_callers=17", 2, NULL},
        {{"-pool-s", "1m"}, "pool_size=1048576", 3, NULL},
        {{"-", "x"}, "", 1, NULL},
        {{"--path-map=/a=/b", "--path-map", "/c="}, "path_map=\"/a=/b\n/c=\"", 4, NULL},
        {{"--path-map", "/a"}, NULL, 0, "path-map: '/a' is not FROM=TO"},
        {{"--path-map==/a"}, NULL, 0, "path-map: '=/a' is not FROM=TO"},
        {{"--tool=helgrind"}, NULL, 0, "tool: 'helgrind' is not memcheck, the only one"},
        {{"--format=xml"}, NULL, 0, "format: 'xml' is not text, valgrind"},
        {{"--he", "x"}, NULL, 0, "'--he' is ambiguous: help, heap"},
        {{"-m=1"},
         NULL,
         0,
         "'-m=1' is ambiguous: memuse, mappings, match, max-leaks, measure, malloc-fill"},
        {{"-fre"}, NULL, 0, "ambiguous"},
        {{"--json"}, NULL, 0, "json needs a value"},
        {{"--free_fill=1"}, NULL, 0, "unknown option '--free_fill=1'"},
        {{"-z"}, NULL, 0, "unknown option '-z'"},
        {{"-qx"}, NULL, 0, "unknown option '-qx'"},
        {{"--keep=2"}, NULL, 0, "'2' is not yes or no"},
        {{"--=x"}, NULL, 0, "unknown option '--=x'"},
    };
    for (unsigned i = 0; i < countof(rows); i++) {
        struct options o;
        char got[OPTIONS_TEXT_BYTES];
        int rest = 0;
        int bad = parse(&o, &rest, rows[i].word[0], rows[i].word[1], rows[i].word[2]);
        if (rows[i].error) {
            assert_int_equal(bad, -EINVAL);
            assert_non_null(strstr(err, rows[i].error));
        } else {
            assert_int_equal(bad, 0);
            assert_int_equal(rest, rows[i].rest);
            assert_int_equal(options_canonical(&o, got, err), 0);
            assert_string_equal(got, rows[i].canonical);
        }
        options_free(&o);
    }
}

/* Pairs of names with a common abbreviation, and the longest such abbreviation. */
static const char *const confusable[] = {
    "help hyperlinks h",
    "help heap he",
    "version verbose ver",
    "log-file log-fd log-f",
    "log-file leaks l",
    "log-file leak-check l",
    "log-file leak-resolution l",
    "log-fd leaks l",
    "log-fd leak-check l",
    "log-fd leak-resolution l",
    "error-markers errors-for-leak-kinds error",
    "error-markers error-exitcode error-",
    "error-markers events e",
    "error-markers error-limit error-",
    "fullpath-after format f",
    "fullpath-after fork f",
    "fullpath-after freelist-vol f",
    "fullpath-after frames f",
    "fullpath-after free-fill f",
    "json junit j",
    "sarif source-root s",
    "sarif sysroot s",
    "sarif show-mismatched-frees s",
    "sarif show-leak-kinds s",
    "sarif show-reachable s",
    "sarif suppressions s",
    "sarif stale-suppressions s",
    "sarif strict-interior s",
    "sarif source s",
    "sarif skip-module s",
    "sarif shell-leaks s",
    "gitlab gen-suppressions g",
    "gitlab guard g",
    "gitlab guard-stacks g",
    "xml xml-file xm",
    "xml xml-fd xm",
    "xml xml-user-comment xm",
    "xml-file xml-fd xml-f",
    "xml-file xml-user-comment xml-",
    "xml-fd xml-user-comment xml-",
    "annotate all a",
    "annotate allow-unchecked a",
    "annotate access-objects a",
    "annotate access-skip a",
    "annotate access a",
    "annotate access-every a",
    "source-root sysroot s",
    "source-root show-mismatched-frees s",
    "source-root show-leak-kinds s",
    "source-root show-reachable s",
    "source-root suppressions s",
    "source-root stale-suppressions s",
    "source-root strict-interior s",
    "source-root source sourc",
    "source-root skip-module s",
    "source-root shell-leaks s",
    "sysroot show-mismatched-frees s",
    "sysroot show-leak-kinds s",
    "sysroot show-reachable s",
    "sysroot suppressions s",
    "sysroot stale-suppressions s",
    "sysroot strict-interior s",
    "sysroot source s",
    "sysroot skip-module s",
    "sysroot shell-leaks s",
    "debug-dir default-suppressions de",
    "debug-dir demangle de",
    "debug-dir deterministic de",
    "path-map print-suppressions p",
    "path-map pool-dir p",
    "path-map plans p",
    "path-map plans-size p",
    "path-map pool-size p",
    "format fork for",
    "format freelist-vol f",
    "format frames f",
    "format free-fill f",
    "tool trace-children t",
    "tool trace-children-skip t",
    "tool track-fds t",
    "memuse mappings m",
    "memuse match m",
    "memuse max-leaks m",
    "memuse measure me",
    "memuse malloc-fill m",
    "mappings match ma",
    "mappings max-leaks ma",
    "mappings measure m",
    "mappings malloc-fill ma",
    "cost counters co",
    "cost color co",
    "cost catch c",
    "cost cost-every cos",
    "counters color co",
    "counters catch c",
    "counters cost-every co",
    "rtc-biu-at-exit rtc-mel-at-exit rtc-",
    "rtc-biu-at-exit run-libc-freeres r",
    "rtc-biu-at-exit run-cxx-freeres r",
    "rtc-biu-at-exit redzone-size r",
    "rtc-biu-at-exit rerun r",
    "show-mismatched-frees show-leak-kinds show-",
    "show-mismatched-frees show-reachable show-",
    "show-mismatched-frees suppressions s",
    "show-mismatched-frees stale-suppressions s",
    "show-mismatched-frees strict-interior s",
    "show-mismatched-frees source s",
    "show-mismatched-frees skip-module s",
    "show-mismatched-frees shell-leaks sh",
    "leaks leak-check leak",
    "leaks leak-resolution leak",
    "leak-check leak-resolution leak-",
    "rtc-mel-at-exit run-libc-freeres r",
    "rtc-mel-at-exit run-cxx-freeres r",
    "rtc-mel-at-exit redzone-size r",
    "rtc-mel-at-exit rerun r",
    "show-leak-kinds show-reachable show-",
    "show-leak-kinds suppressions s",
    "show-leak-kinds stale-suppressions s",
    "show-leak-kinds strict-interior s",
    "show-leak-kinds source s",
    "show-leak-kinds skip-module s",
    "show-leak-kinds shell-leaks sh",
    "show-reachable suppressions s",
    "show-reachable stale-suppressions s",
    "show-reachable strict-interior s",
    "show-reachable source s",
    "show-reachable skip-module s",
    "show-reachable shell-leaks sh",
    "errors-for-leak-kinds error-exitcode error",
    "errors-for-leak-kinds events e",
    "errors-for-leak-kinds error-limit error",
    "match max-leaks ma",
    "match measure m",
    "match malloc-fill ma",
    "suppressions stale-suppressions s",
    "suppressions strict-interior s",
    "suppressions source s",
    "suppressions skip-module s",
    "suppressions shell-leaks s",
    "default-suppressions demangle de",
    "default-suppressions deterministic de",
    "max-leaks measure m",
    "max-leaks malloc-fill ma",
    "baseline bytes b",
    "gen-suppressions guard g",
    "gen-suppressions guard-stacks g",
    "print-suppressions pool-dir p",
    "print-suppressions plans p",
    "print-suppressions plans-size p",
    "print-suppressions pool-size p",
    "stale-suppressions strict-interior st",
    "stale-suppressions source s",
    "stale-suppressions skip-module s",
    "stale-suppressions shell-leaks s",
    "witness wrappers w",
    "strict-interior source s",
    "strict-interior skip-module s",
    "strict-interior shell-leaks s",
    "all allow-unchecked al",
    "all access-objects a",
    "all access-skip a",
    "all access a",
    "all access-every a",
    "color catch c",
    "color cost-every co",
    "hyperlinks heap h",
    "source skip-module s",
    "source shell-leaks s",
    "only-module only-thread only-",
    "only-module on-error on",
    "skip-module shell-leaks s",
    "only-thread on-error on",
    "demangle deterministic de",
    "error-exitcode events e",
    "error-exitcode error-limit error-",
    "measure malloc-fill m",
    "keep keep-pool kee",
    "allow-unchecked access-objects a",
    "allow-unchecked access-skip a",
    "allow-unchecked access a",
    "allow-unchecked access-every a",
    "trace-children trace-children-skip trace-childre",
    "trace-children track-fds trac",
    "trace-children-skip track-fds trac",
    "run-libc-freeres run-cxx-freeres run-",
    "run-libc-freeres redzone-size r",
    "run-libc-freeres rerun r",
    "run-cxx-freeres redzone-size r",
    "run-cxx-freeres rerun r",
    "pool-dir plans p",
    "pool-dir plans-size p",
    "pool-dir pool-size pool-",
    "access-objects access-skip access-",
    "access-objects access acces",
    "access-objects access-every access-",
    "access-skip access acces",
    "access-skip access-every access-",
    "plans plans-size plan",
    "plans pool-size p",
    "plans-size pool-size p",
    "fork freelist-vol f",
    "fork frames f",
    "fork free-fill f",
    "events error-limit e",
    "freelist-vol frames fr",
    "freelist-vol free-fill free",
    "redzone-size rerun re",
    "frames free-fill fr",
    "access access-every acces",
    "guard guard-stacks guar",
    "catch cost-every c",
};

/* Write "a b longest" if both have a common abbreviation that is not the name of either. */
static bool describe_pair(const char *a, const char *b, char *out, size_t room)
{
    size_t n = 0, shorter = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    while (n < shorter && a[n] == b[n])
        n++;
    if (n == shorter)
        n--; /* the whole name is not an abbreviation */
    snprintf(out, room, "%s %s %.*s", a, b, (int)n, a);
    return n > 0;
}

/* Is [text, text + n) the whole name of an option? */
static bool is_name(const char *text, size_t n)
{
    for (unsigned i = 0; option_at(NULL, i); i++)
        if (strlen(option_at(NULL, i)->name) == n &&
            strncmp(option_at(NULL, i)->name, text, n) == 0)
            return true;
    return false;
}

static void abbreviations(void **state)
{
    (void)state;
    unsigned found = 0;
    for (unsigned i = 0; option_at(NULL, i); i++) {
        for (unsigned k = i + 1; option_at(NULL, k); k++) {
            const char *a = option_at(NULL, i)->name, *b = option_at(NULL, k)->name;
            char pair[128], word[64];
            if (!describe_pair(a, b, pair, sizeof pair))
                continue;
            assert_true(found < countof(confusable));
            assert_string_equal(pair, confusable[found++]);
            /* Each common abbreviation is refused, with one dash and with two. */
            for (size_t n = strlen(strrchr(pair, ' ') + 1); n > 0; n--) {
                if (is_name(a, n))
                    continue;
                for (int dashes = 1; dashes <= 2; dashes++) {
                    struct options o;
                    int rest;
                    snprintf(word, sizeof word, "%.*s%.*s=1", dashes, "--", (int)n, a);
                    assert_int_equal(parse(&o, &rest, word, NULL, NULL), -EINVAL);
                    assert_non_null(strstr(err, "ambiguous"));
                    options_free(&o);
                }
            }
        }
    }
    assert_int_equal(found, countof(confusable));
}

/* The format of the text: valgrind's option --tool selects it, too. */
static void formats(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum print_format format;
        unsigned shown;
    } rows[] = {
        {"", PRINT_TEXT, 5},
        {"format=valgrind", PRINT_VALGRIND, 5},
        {"format=ctest", PRINT_VALGRIND, 5},
        {"format=lsan", PRINT_LSAN, 5},
        {"format=asan", PRINT_LSAN, 5},
        {"format=gcc", PRINT_GCC, 5},
        {"format=github", PRINT_GITHUB, 5},
        {"tool=memcheck", PRINT_VALGRIND, 5},
        {"tool=rtcheck", PRINT_TEXT, 5},
        {"tool=memcheck:format=text", PRINT_TEXT, 5},
        {"tool=memcheck:leak_check=yes:show_reachable=yes", PRINT_VALGRIND, 15},
        {"show_leak_kinds=definite:show_reachable=no", PRINT_TEXT, 1},
    };
    for (unsigned i = 0; i < countof(rows); i++) {
        struct options o;
        options_init(&o);
        assert_int_equal(options_from_text(&o, rows[i].text, err), 0);
        struct print_options how = print_how(&o, -1, NULL);
        assert_int_equal(how.format, rows[i].format);
        assert_int_equal(how.leak_kinds & rows[i].shown, rows[i].shown);
        assert_int_equal(how.leak_kinds | rows[i].shown, rows[i].shown);
        options_free(&o);
    }
}

/* The effect of the options about leaks, and their precedence. */
static void leaks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum print_leaks leaks;
        unsigned shown, problems, match;
    } rows[] = {
        {"", PRINT_LEAKS_TABLE, 5, 5, 0},
        {"leaks=no", PRINT_LEAKS_NOTHING, 5, 0, 0},
        {"leak_check=no", PRINT_LEAKS_NOTHING, 5, 0, 0},
        {"rtc_mel_at_exit=off:leak_check=full", PRINT_LEAKS_NOTHING, 5, 0, 0},
        {"rtc_mel_at_exit=verbose", PRINT_LEAKS_RECORDS, 5, 5, 0},
        {"rtc_mel_at_exit=verbose:leak_check=summary", PRINT_LEAKS_SUMMARY, 5, 5, 0},
        {"leak_check=yes", PRINT_LEAKS_RECORDS, 5, 5, 0},
        {"leak_check=full", PRINT_LEAKS_RECORDS, 5, 5, 0},
        {"leak_check=summary:leak_resolution=low", PRINT_LEAKS_SUMMARY, 5, 5, 2},
        {"leak_resolution=med", PRINT_LEAKS_TABLE, 5, 5, 4},
        {"leak_resolution=med:match=3", PRINT_LEAKS_TABLE, 5, 5, 3},
        {"show_leak_kinds=reachable:errors_for_leak_kinds=indirect", PRINT_LEAKS_TABLE, 8, 2, 0},
        {"show_leak_kinds=none:errors_for_leak_kinds=all", PRINT_LEAKS_TABLE, 0, 15, 0},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct options o;
        options_init(&o);
        assert_int_equal(options_from_text(&o, rows[i].text, err), 0);
        struct print_options how = print_how(&o, -1, NULL);
        assert_int_equal(how.leaks, rows[i].leaks);
        assert_int_equal(how.leak_kinds, rows[i].shown);
        assert_int_equal(how.problem_kinds, rows[i].problems);
        assert_int_equal(how.match, rows[i].match);
        options_free(&o);
    }
}

static void single_letters(void **state)
{
    (void)state;
    struct options o;
    int rest;
    for (unsigned i = 0; option_at(NULL, i); i++) /* -q and -h conflict with no abbreviation */
        if (option_at(NULL, i)->name[0] == 'q')
            assert_string_equal(option_at(NULL, i)->name, "quiet");
    assert_int_equal(parse(&o, &rest, "-h", NULL, NULL), 0);
    assert_string_equal(option_text(&o, "help"), "yes");
    options_free(&o);
    assert_int_equal(parse(&o, &rest, "-T", "250", NULL), 0);
    assert_int_equal(option_number(&o, "interval", 0), 250);
    options_free(&o);
    assert_int_equal(parse(&o, &rest, "-T0", NULL, NULL), 0);
    assert_true(option_is_given(&o, "interval") && option_number(&o, "interval", 7) == 0);
    options_free(&o);
    assert_int_equal(parse(&o, &rest, "-T", NULL, NULL), -EINVAL);
    assert_non_null(strstr(err, "interval"));
    options_free(&o);
}

static void defaults(void **state)
{
    (void)state;
    struct options o;
    options_init(&o);
    for (unsigned i = 0; option_at(NULL, i); i++) {
        char setting[256];
        if (!*option_at(NULL, i)->initial)
            continue; /* a default is a value of its kind */
        snprintf(setting, sizeof setting, "%s=%s", option_at(NULL, i)->name,
                 option_at(NULL, i)->initial);
        assert_int_equal(options_from_text(&o, setting, err), 0);
    }
    options_free(&o);
    assert_false(option_flag(&o, "quiet"));
    assert_true(option_flag(&o, "trace-children"));
    assert_int_equal(option_size(&o, "pool-size"), RTC_POOL_BYTES);
    assert_string_equal(option_text(&o, "heap"), RTC_HEAP_DEFAULT);
    assert_string_equal(option_text(&o, "json"), "");
}

/*
 * The canonical text is parsed to the same options; a value without canonical text is refused or
 * omitted.
 */
static void canonical(void **state)
{
    (void)state;
    struct options o;
    char first[OPTIONS_TEXT_BYTES], second[OPTIONS_TEXT_BYTES], text[2 * OPTIONS_TEXT_BYTES];
    options_init(&o);
    assert_int_equal(options_from_text(&o, "pool-dir='/a b':json=\"'\":heap=file:q", err), -EINVAL);
    assert_int_equal(options_canonical(&o, first, err), 0);
    assert_string_equal(first, "json=\"'\":pool_dir=\"/a b\":heap=file");
    options_free(&o);
    assert_int_equal(options_from_text(&o, first, err), 0);
    assert_int_equal(options_canonical(&o, second, err), 0);
    assert_string_equal(first, second);

    memset(text, 'x', sizeof text);
    memcpy(text, "log-file=", 9);
    text[9 + OPTIONS_TEXT_BYTES - 5] = '\0';
    assert_int_equal(options_from_text(&o, text, err), 0);
    assert_int_equal(options_canonical(&o, second, err), 0);
    assert_string_equal(first, second); /* the launcher's own, and too long: omitted */
    memcpy(text, "pool-dir=", 9);
    assert_int_equal(options_from_text(&o, text, err), 0);
    assert_int_equal(options_canonical(&o, second, err), -E2BIG);
    assert_non_null(strstr(err, "pool-dir"));
    options_free(&o);
}

/* Only values that were changed cause a note. */
static void notes(void **state)
{
    (void)state;
    static const struct {
        const char *word, *note;
    } rows[] = {
        {"-frames=17", "-frames 17: 16 taken; --num-callers goes up to 64"},
        {"-frames=99999999999999999999", "option -frames"},
        {"-frames=0", "-frames 0: 1 taken"},
        {"-frames=16", ""},
        {"-frames=1", ""},
        {"--frames=17", ""},
        {"--num-callers=17", ""},
    };
    for (unsigned i = 0; i < countof(rows); i++) {
        struct options o;
        int rest;
        if (parse(&o, &rest, rows[i].word, NULL, NULL) != 0)
            assert_non_null(strstr(err, rows[i].note));
        else
            assert_string_equal(o.note, rows[i].note);
        options_free(&o);
    }
}

static void numbers(void **state)
{
    (void)state;
    struct options o;
    int rest;
    assert_int_equal(parse(&o, &rest, NULL, NULL, NULL), 0);
    assert_int_equal(option_number(&o, "num-callers", 99), 8);
    assert_int_equal(option_number(&o, "error-exitcode", 0), 0);
    assert_int_equal(option_number(&o, "error-exitcode", 7), 7);
    options_free(&o);
    assert_int_equal(parse(&o, &rest, "--error-exitcode=0x17", "-frames=3", NULL), 0);
    assert_int_equal(option_number(&o, "error-exitcode", 0), 23);
    assert_int_equal(option_number(&o, "num-callers", 99), 3);
    options_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),         cmocka_unit_test(command_lines),
        cmocka_unit_test(abbreviations), cmocka_unit_test(leaks),
        cmocka_unit_test(formats),       cmocka_unit_test(single_letters),
        cmocka_unit_test(defaults),      cmocka_unit_test(canonical),
        cmocka_unit_test(notes),         cmocka_unit_test(numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
