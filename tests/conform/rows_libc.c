/* rows_libc.c - blocks that libc allocates, and that the program frees or resizes. */
#include "rows.h"

#include <argz.h>
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <glob.h>
#include <iconv.h>
#include <locale.h>
#include <malloc.h>
#include <obstack.h>
#include <pthread.h>
#include <regex.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <wordexp.h>

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

void row_strdup(void)
{
    for (size_t n = 0; n < 5000; n = n * 2 + 1) {
        char *text = malloc(n + 1);
        memset(text, 'x', n);
        text[n] = 0;
        char *copy = strdup(text), *part = strndup(text, n / 2);
        expect(strlen(copy) == n && strlen(part) == n / 2, "copies of %zu characters", n);
        expect_usable(copy, n + 1);
        expect_usable(part, n / 2 + 1);
        copy = realloc(copy, 2 * n + 2);
        expect(memcmp(copy, text, n + 1) == 0, "copy of %zu characters lost", n);
        free(copy);
        free(part);
        free(text);
    }
}

void row_wcsdup(void)
{
    wchar_t *copy = wcsdup(L"wide enough");
    expect_usable(copy, sizeof L"wide enough");
    print_result("%ls", copy);
    free(copy);
}

void row_asprintf(void)
{
    char *text = NULL;
    int n = asprintf(&text, "%s %d %*d", "seven", 7, 3000, 7);
    print_result("%d characters, begins %.7s", n, text);
    expect(text && strlen(text) == (size_t)n, "wrong length");
    expect_usable(text, (size_t)n + 1);
    free(text);
}

void row_printf_of_great_width(void)
{
    char *text = malloc(200001);
    int n = snprintf(text, 200001, "%100000d%0*.*f", 1, 50000, 40000, 1.5);
    print_result("%d characters, %s", n, strlen(text) == (size_t)n ? "all there" : "some missing");
    free(text);
}

void row_sscanf_allocates(void)
{
    char *word = NULL, *letters = NULL;
    int n = sscanf("conformance 42abc", "%ms %*d%m[a-z]", &word, &letters);
    print_result("%d: %s %s", n, word, letters);
    free(word);
    free(letters);
}

void row_getline_grows(void)
{
    size_t bytes = 300000;
    char *text = malloc(bytes), *line = NULL;
    memset(text, 'y', bytes);
    for (size_t at = 1, i = 1; at < bytes; at += i *= 3)
        text[at] = '\n';
    FILE *stream = fmemopen(text, bytes, "r");
    size_t capacity = 0, sum = 0;
    for (ssize_t n; (n = getline(&line, &capacity, stream)) > 0; sum += (size_t)n)
        expect(line && malloc_usable_size(line) >= capacity && strlen(line) == (size_t)n,
               "line of %zd in a block of %zu", n, capacity);
    print_result("%zu bytes read", sum);
    fclose(stream);
    free(line);
    free(text);
}

void row_getline_into_our_block(void)
{
    static char text[] = "a line longer than the four bytes it gets at first\nand another\n";
    FILE *stream = fmemopen(text, sizeof text - 1, "r");
    size_t capacity = 4;
    char *line = malloc(capacity);
    ssize_t first = getline(&line, &capacity, stream), second = getline(&line, &capacity, stream);
    print_result("%zd and %zd characters, last line %.11s", first, second, line);
    fclose(stream);
    free(line);
}

void row_getdelim(void)
{
    static char text[] = "one:two:three:";
    FILE *stream = fmemopen(text, sizeof text - 1, "r");
    char *part = NULL;
    size_t capacity = 0;
    while (getdelim(&part, &capacity, ':', stream) > 0)
        print_result("%s", part);
    fclose(stream);
    free(part);
}

void row_open_memstream(void)
{
    char *text = NULL;
    size_t n = 0;
    FILE *stream = open_memstream(&text, &n);
    for (int i = 0; i < 20000; i++)
        fprintf(stream, "%d,", i);
    fclose(stream);
    print_result("%zu bytes, %s", n, text && strlen(text) == n ? "all there" : "some missing");
    expect(malloc_usable_size(text) > n, "block of %zu bytes", malloc_usable_size(text));
    text = realloc(text, n + 1);
    expect(strncmp(text, "0,1,2,3,", 8) == 0, "text lost");
    free(text);
}

void row_open_wmemstream(void)
{
    wchar_t *text = NULL;
    size_t n = 0;
    FILE *stream = open_wmemstream(&text, &n);
    for (int i = 0; i < 3000; i++)
        fwprintf(stream, L"%d;", i);
    fclose(stream);
    print_result("%zu characters, %s", n, text && wcslen(text) == n ? "all there" : "some missing");
    free(text);
}

void row_environment(void)
{
    char name[32], *big = malloc(10000);
    memset(big, 'v', 9999);
    big[9999] = 0;
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "CONFORM_%d", i);
        expect(setenv(name, big + i * 7, 1) == 0, "setenv of %s", name);
    }
    size_t sum = 0;
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "CONFORM_%d", i);
        sum += strlen(getenv(name));
        unsetenv(name);
    }
    print_result("%zu characters, then %s", sum, getenv("CONFORM_7") ? "still there" : "gone");
    free(big);
}

void row_regcomp(void)
{
    regex_t expression;
    regmatch_t match[3];
    int error = regcomp(&expression, "^([a-z]+)[0-9]{2,40}(x|yy|zzz)*$", REG_EXTENDED);
    int found = regexec(&expression, "conform2024yyzzzx", 3, match, 0);
    print_result("compiled %d, found %d, first group ends at %d", error, found,
                 (int)match[1].rm_eo);
    regfree(&expression);
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* qsort merges through a temporary block if memory suffices. */
void row_qsort_large(void)
{
    enum { NUMBERS = 200000 };
    uint32_t *numbers = malloc(NUMBERS * sizeof *numbers), state = 5, wrong = 0;
    for (size_t i = 0; i < NUMBERS; i++)
        numbers[i] = next_random(&state);
    qsort(numbers, NUMBERS, sizeof *numbers, compare_numbers);
    for (size_t i = 1; i < NUMBERS; i++)
        wrong += numbers[i - 1] > numbers[i];
    print_result("%u out of order", wrong);
    free(numbers);
}

static int compare_keys(const void *a, const void *b)
{
    return a < b ? -1 : a > b;
}

static int keys_seen;

static void destroy_key(void *key)
{
    keys_seen += key != NULL;
}

void row_search_tree(void)
{
    static char keys[3000];
    void *root = NULL;
    for (size_t i = 0; i < sizeof keys; i++)
        tsearch(keys + i * 1319 % sizeof keys, &root, compare_keys);
    for (size_t i = 0; i < sizeof keys; i += 3)
        tdelete(keys + i, &root, compare_keys);
    tdestroy(root, destroy_key);
    print_result("%d keys left", keys_seen);
}

void row_search_hash(void)
{
    static char names[500][8];
    struct hsearch_data table = {0};
    hcreate_r(700, &table);
    ENTRY *entry;
    int found = 0;
    for (int i = 0; i < 500; i++) {
        snprintf(names[i], sizeof names[i], "k%d", i);
        hsearch_r((ENTRY){names[i], names[i]}, ENTER, &entry, &table);
    }
    for (int i = 0; i < 500; i++)
        found += hsearch_r((ENTRY){names[i], NULL}, FIND, &entry, &table) != 0;
    hdestroy_r(&table);
    print_result("%d found", found);
}

void row_argz(void)
{
    char *vector = NULL;
    size_t n = 0;
    argz_create_sep("to:be:or:not:to:be", ':', &vector, &n);
    argz_add(&vector, &n, "that is the question");
    argz_replace(&vector, &n, "be", "allocate", NULL);
    size_t count = argz_count(vector, n);
    argz_stringify(vector, (int)n, ' ');
    print_result("%zu words: %s", count, vector);
    free(vector);
}

void row_obstack(void)
{
    struct obstack stack;
    obstack_init(&stack);
    char *first = obstack_copy0(&stack, "first", 5);
    for (int i = 0; i < 20000; i++)
        obstack_1grow(&stack, (char)('a' + i % 26));
    obstack_1grow(&stack, 0);
    char *second = obstack_finish(&stack);
    print_result("%s, %zu characters", first, strlen(second));
    obstack_free(&stack, NULL);
}

static pthread_key_t keys_made[200];

/* Beyond the first 32 keys a thread's values live in blocks that libc allocates. */
void row_many_thread_keys(void)
{
    int wrong = 0;
    for (int i = 0; i < 200; i++) {
        wrong += pthread_key_create(&keys_made[i], NULL) != 0;
        pthread_setspecific(keys_made[i], &keys_made[i]);
    }
    for (int i = 0; i < 200; i++) {
        wrong += pthread_getspecific(keys_made[i]) != &keys_made[i];
        pthread_key_delete(keys_made[i]);
    }
    print_result("%d wrong", wrong);
}

void row_dlsym_unknown(void)
{
    void *symbol = dlsym(RTLD_DEFAULT, "conform_no_such_symbol");
    const char *text = dlerror();
    print_result("%s, %s", symbol ? "found" : "not found",
                 text && strstr(text, "conform_no_such_symbol") ? "named in the message"
                                                                : "not named");
}

void row_dlopen(void)
{
    for (int i = 0; i < 3; i++) {
        void *library = dlopen("libdl.so.2", RTLD_NOW | RTLD_LOCAL);
        void *missing = dlopen("libconform-no-such.so", RTLD_NOW);
        const char *text = dlerror();
        expect(library && !missing && text && strstr(text, "libconform-no-such.so"),
               "round %d: library %p, missing %p, %s", i, library, missing, text ? text : "");
        if (library)
            expect(dlclose(library) == 0, "round %d: dlclose", i);
    }
}

void row_files(void)
{
    char line[64] = "";
    for (int i = 0; i < 50; i++) {
        FILE *stream = fopen("/proc/self/comm", "re");
        expect(stream && fgets(line, sizeof line, stream), "round %d: not read", i);
        if (stream)
            fclose(stream);
    }
    print_result("%.7s", line);
}

void row_getcwd(void)
{
    char *folder = getcwd(NULL, 0), *current = get_current_dir_name();
    char *resolved = realpath("/proc/self/../self/.", NULL), *none = realpath("/no/such", NULL);
    expect(folder && current && strcmp(folder, current) == 0, "folders differ");
    expect(resolved && strncmp(resolved, "/proc/", 6) == 0 && !none, "realpath");
    if (folder)
        expect(malloc_usable_size(folder) > strlen(folder), "block too small for the folder");
    free(folder);
    free(current);
    free(resolved);
}

void row_scandir(void)
{
    struct dirent **entries = NULL;
    int n = scandir("/proc/self", &entries, NULL, alphasort), found = 0;
    for (int i = 0; i < n; i++) {
        found += strcmp(entries[i]->d_name, "maps") == 0;
        free(entries[i]);
    }
    free(entries);
    print_result("found %d", found);
}

void row_glob(void)
{
    glob_t found;
    int error = glob("/proc/self/s*tat*", 0, NULL, &found);
    print_result("error %d, %s", error, found.gl_pathc >= 3 ? "all three" : "fewer than three");
    globfree(&found);
}

void row_locale(void)
{
    char *name = setlocale(LC_ALL, "C.UTF-8");
    locale_t locale = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
    locale_t copy = locale ? duplocale(locale) : (locale_t)0;
    expect(name && locale && copy, "no C.UTF-8");
    if (locale)
        freelocale(locale);
    if (copy)
        freelocale(copy);
    print_result("back in %s", setlocale(LC_ALL, "C"));
}

void row_iconv(void)
{
    iconv_t converter = iconv_open("UTF-16LE", "UTF-8");
    char in[] = "conform", out[64], *from = in, *to = out;
    size_t left = sizeof in - 1, room = sizeof out;
    size_t failed = converter == (iconv_t)-1 ? 1 : iconv(converter, &from, &left, &to, &room);
    print_result("failed %zu, %zu bytes out", failed, sizeof out - room);
    if (converter != (iconv_t)-1)
        iconv_close(converter);
}

void row_backtrace_symbols(void)
{
    void *frames[10];
    int n = backtrace(frames, 10);
    char **names = backtrace_symbols(frames, n);
    print_result("%s, %s", n > 1 ? "frames" : "no frames", names ? "names" : "no names");
    free(names);
}

void row_wordexp(void)
{
    wordexp_t words;
    int error = wordexp("a b \"c d\" $((2+3))", &words, 0);
    print_result("error %d, %zu words, last %s", error, words.we_wordc,
                 words.we_wordv[words.we_wordc - 1]);
    wordfree(&words);
}

void row_local_time(void)
{
    time_t when = 86400 * 365;
    struct tm broken;
    for (int i = 0; i < 10; i++) {
        setenv("TZ", i % 2 ? "UTC0" : "CET-1CEST", 1);
        tzset();
        localtime_r(&when, &broken);
    }
    unsetenv("TZ");
    print_result("year %d", broken.tm_year + 1900);
}

/* Digits to 'N', as many blanks before as there were digits and blanks: a field's width stays. */
static void hide_numbers(char *line)
{
    for (char *c = line; *c; c++)
        if (*c >= '0' && *c <= '9' && (c == line || c[-1] == ' ' || c[-1] == 'N'))
            *c = 'N';
    for (char *c = line + strlen(line); c-- > line;)
        if (*c == ' ' && c[1] == 'N')
            *c = 'N';
}

/* Every line of it, with stderr as the program has it: buffered, and another file than descriptor 2. */
void row_malloc_stats(void)
{
    char *text = NULL, *at;
    size_t bytes;
    FILE *saved = stderr, *stream = open_memstream(&text, &bytes);
    expect(stream != NULL, "no stream");
    stderr = stream;
    fputs("before\n", stderr);
    malloc_stats();
    fputs("after\n", stderr);
    stderr = saved;
    fclose(stream);
    at = text;
    bool others = false; /* lines of an arena that threads of earlier rows made */
    for (char *line; (line = strsep(&at, "\n")) && at;) {
        others = strncmp(line, "Arena ", 6) == 0 ? strcmp(line, "Arena 0:") != 0
                                                 : others && *line != 'T';
        hide_numbers(line);
        if (!others)
            print_result("%s", line);
    }
    free(text);
    void *p = malloc(100);
    expect_block(p, 100, 16);
    free(p);
}
