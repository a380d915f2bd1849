/*
 * accesses_more.c - bad calls often, in threads, in children, in signal handlers, and together with
 * other bad writes: accesses_more CASE. Each case prints "done" as its last line.
 *
 * rtc-build: -O1 -g -D_GNU_SOURCE -pthread -fno-builtin -fno-inline -fno-optimize-sibling-calls -U_FORTIFY_SOURCE
 */
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static char letters[64] = "abcdefghijklmnopqrstuvwxyz";

static NOINLINE void copy(char *to, size_t n)
{
    memcpy(to, letters, n);
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void store(char *to)
{
    *(volatile char *)to = 'Z';
}

static NOINLINE void copy_often(int calls, int bad, char *block)
{
    for (int i = 1; i <= calls; i++)
        copy(block, i == bad ? 41 : 40);
}

static void often(int calls, int bad)
{
    char *block = malloc(40);
    copy_often(calls, bad, block);
    free(block);
}

static void once(void)
{
    often(1, 1);
}
static void early(void)
{
    often(255, 255);
}
static void late(void)
{
    often(5000, 5000);
}

/* The entries of the table of places are shared: other places are called between. */
static void *count_255(void *unused)
{
    often(255, 255);
    return unused;
}

static void threads(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, count_255, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
}

/* ---- fork ------------------------------------------------------------------------------------ */

static NOINLINE void in_child(char *block)
{
    copy(block, 41);
}
static NOINLINE void in_parent(char *block)
{
    copy(block, 41);
}

static void forked(void)
{
    char *block = malloc(40);
    pid_t child = fork();
    if (child == 0) {
        in_child(block);
        free(block);
        exit(0);
    }
    waitpid(child, NULL, 0);
    in_parent(block);
    free(block);
}

/* A block that the parent frees or allocates anew is the child's as it was. */
static void parent_frees(void)
{
    char *blocks[64], *large = malloc(100000);
    int go[2];
    if (pipe(go) != 0)
        return;
    for (int i = 0; i < 64; i++)
        blocks[i] = malloc(40);
    pid_t child = fork();
    if (child == 0) {
        char c;
        close(go[1]);
        if (read(go[0], &c, 1) != 1)
            exit(1);
        for (int i = 0; i < 64; i++) {
            copy(blocks[i], 40);
            strcpy(blocks[i], "short");
            strcat(blocks[i], "er");
            if (strlen(blocks[i]) != 7 || strcmp(blocks[i], "shorter") != 0)
                exit(2);
        }
        memset(large, 0, 100000);
        exit(0);
    }
    for (int i = 0; i < 64; i++)
        free(blocks[i]);
    free(large);
    for (int i = 0; i < 64; i++)
        blocks[i] = malloc(24);
    int status = 0;
    if (write(go[1], "", 1) == 1)
        waitpid(child, &status, 0);
    for (int i = 0; i < 64; i++)
        free(blocks[i]);
    printf("status %d\n", status);
}

/* ---- signals --------------------------------------------------------------------------------- */

static char *volatile handled;
static volatile sig_atomic_t ticks;

static void on_tick(int signal)
{
    char word[8];
    (void)signal;
    memcpy(handled, letters, 41);
    memcpy(word, word + 1, 4);
    if (strlen(handled + 8) == 0)
        abort();
    ticks++;
}

/* The handler interrupts malloc and free, most of the time. */
static void handler(void)
{
    struct itimerval often_enough = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    handled = malloc(40);
    memset(handled, 0, 40);
    signal(SIGALRM, on_tick);
    setitimer(ITIMER_REAL, &often_enough, NULL);
    while (ticks < 500)
        for (int i = 0; i < 100; i++) {
            char *volatile block = malloc((size_t)i * 50 + 1);
            free(block);
        }
    setitimer(ITIMER_REAL, &never, NULL);
    free(handled);
}

/* ---- the same damage once, other damage too ---------------------------------------------------- */

static NOINLINE char *first_block(void)
{
    return malloc(40);
}
static NOINLINE char *second_block(void)
{
    return malloc(40);
}

static void damaged_once(void)
{
    char *a = first_block();
    copy(a, 44);
    free(a);
}

/* Several redzones by one call, which are looked at from the last to the first. */
static void damages_many(void)
{
    char *block[8], *low, *high;
    static char zeros[256];
    for (int i = 0; i < 8; i++)
        block[i] = malloc(40);
    low = high = block[0];
    for (int i = 1; i < 8; i++) {
        low = block[i] < low ? block[i] : low;
        high = block[i] > high ? block[i] : high;
    }
    if (high - low > 4096)
        return;
    memcpy(low, zeros, 200);
    for (uintptr_t at = (uintptr_t)high; at >= (uintptr_t)low; at--)
        for (int i = 0; i < 8; i++)
            if ((uintptr_t)block[i] == at)
                free(block[i]);
}

static void damaged_and_moved(void)
{
    char *a = first_block();
    copy(a, 44);
    a = realloc(a, 38);
    a = realloc(a, 500);
    free(a);
}

static void damaged_freed(void)
{
    char *a = first_block();
    free(a);
    copy(a, 20);
}

static void damaged_twice(void)
{
    char *a = first_block();
    copy(a, 42);
    store(a + 47);
    free(a);
}

static void damaged_both(void)
{
    char *a = first_block(), *b = second_block();
    copy(a, 42);
    store(b + 40);
    free(a);
    free(b);
}

static void damaged_later(void)
{
    char *a = first_block();
    free(a);
    copy(a, 20);
    store(a + 30);
}

static void appended_freed(void)
{
    char *a = first_block();
    memset(a, 0, 40);
    free(a);
    store(a + 3); /* the end of the string, if it were zero */
    strcat(a, "abc");
}

/* ---- arguments beside the text or the array ---------------------------------------------------- */

static int equal(const void *a, const void *b)
{
    return a == b && !a;
}

static int first_byte(const void *a, const void *b)
{
    return *(const unsigned char *)a - *(const unsigned char *)b;
}

static NOINLINE void *freed_block(void)
{
    void *block = first_block();
    free(block);
    return block;
}

static void end_freed(void)
{
    strtol("12", freed_block(), 10);
    strtod("12", freed_block());
}

static void rest_freed(void)
{
    char text[] = "a b", *rest;
    strtok_r(text, " ", freed_block());
    rest = freed_block();
    strsep((char **)(void *)rest, " ");
}

static void count_freed(void)
{
    size_t *n = (size_t *)(void *)first_block();
    *n = 0;
    lfind("a", letters, n, 1, equal);
    free(n);
    lfind("a", letters, n, 1, equal);
    lsearch("a", letters, n, 1, equal);
}

/* The text is freed between two tokens. */
static void text_freed(void)
{
    char *text = first_block();
    strcpy(text, "a b c");
    strtok(text, " ");
    free(text);
    strtok(NULL, " ");
}

/* The template is replaced, first in a block in use. With --free-fill=no it is in the freed block, too. */
static void template_freed(void)
{
    char *path = first_block();
    strcpy(path, "template.XXXXXX.c");
    int fd = mkstemps(path, 2);
    bool is_replaced = fd >= 0 && strcmp(path, "template.XXXXXX.c") != 0 && unlink(path) == 0;
    strcpy(path, "template.XXXXXX.c");
    free(path);
    int other = mkstemps(path, 2);
    printf("%d %d\n", is_replaced && close(fd) == 0, other >= 0 && unlink(path) == 0);
}

/* The product of number and size is 4 in 64 bits. */
static void product(void)
{
    char *block = first_block();
    size_t n = SIZE_MAX / 4 + 2;
    bsearch(block, block, n, 4, equal);
    lfind(block, block, &n, 4, equal);
    free(block);
}

static jmp_buf away;

static int jump_away(const void *a, const void *b)
{
    (void)a;
    (void)b;
    longjmp(away, 1);
}

static void comparison_jumps(void)
{
    char *block = first_block();
    size_t n = 40;
    for (char *volatile p = block; p; p = NULL)
        if (setjmp(away) == 0)
            qsort(p, 40, 1, jump_away);
        else if (setjmp(away) == 0)
            bsearch(p, p, 40, 1, jump_away);
        else if (setjmp(away) == 0)
            lsearch(p, p, &n, 1, jump_away);
    qsort(block, 40, 1, first_byte);
    free(block);
}

/* A write without its code, as before. */
static void directly(void)
{
    char *a = first_block();
    store(a + 40);
    free(a);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"once", once},
             {"early", early},
             {"late", late},
             {"threads", threads},
             {"forked", forked},
             {"parent_frees", parent_frees},
             {"handler", handler},
             {"damaged_once", damaged_once},
             {"damages_many", damages_many},
             {"damaged_and_moved", damaged_and_moved},
             {"damaged_freed", damaged_freed},
             {"damaged_twice", damaged_twice},
             {"damaged_both", damaged_both},
             {"damaged_later", damaged_later},
             {"appended_freed", appended_freed},
             {"end_freed", end_freed},
             {"rest_freed", rest_freed},
             {"count_freed", count_freed},
             {"text_freed", text_freed},
             {"template_freed", template_freed},
             {"product", product},
             {"comparison_jumps", comparison_jumps},
             {"directly", directly}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    printf("done\n");
    return 0;
}
