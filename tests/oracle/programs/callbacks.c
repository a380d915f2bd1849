/* Functions of libc and of the loader that call back into the program. */
#include "deep.h"

#include <link.h>
#include <pthread.h>
#include <search.h>
#include <string.h>

static unsigned calls;

static int compare(const void *a, const void *b)
{
    calls++;
    churn(1);
    return *(const int *)a - *(const int *)b;
}

static void on_node(const void *node, VISIT visit, int depth)
{
    (void)node, (void)visit, (void)depth;
    calls++;
    churn(1);
}

static void drop(void *node)
{
    free(node);
}

static int on_module(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)info, (void)size, (void)unused;
    churn(1);
    return 0;
}

static void once(void)
{
    churn(3);
}

static void use_all(void *unused)
{
    (void)unused;
    static pthread_once_t control = PTHREAD_ONCE_INIT;
    static int wide[2000];
    int values[20];
    for (int i = 0; i < 20; i++)
        values[i] = i * 7919 % 101;
    qsort(values, 20, sizeof values[0], compare);
    bsearch(&values[3], values, 20, sizeof values[0], compare);
    qsort(wide, 4, sizeof wide / 4, compare); /* too large for libc's stack */
    void *tree = NULL;
    for (int i = 0; i < 10; i++) {
        int *value = malloc(sizeof *value);
        *value = values[i * 2];
        tsearch(value, &tree, compare);
    }
    twalk(tree, on_node);
    tdestroy(tree, drop);
    dl_iterate_phdr(on_module, NULL);
    pthread_once(&control, once);
}

int main(void)
{
    for (unsigned i = 0; i < 5; i++)
        dive(i * 2 + 1, use_all, NULL);
    printf("callbacks: %u calls\n", calls);
    return 0;
}
