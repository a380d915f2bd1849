/* sig.c - crash: a node is read after it was freed. */
#include <stdlib.h>

struct node {
    struct node *next;
    int value;
};

static int sum(const struct node *list)
{
    int all = 0;
    for (; list; list = list->next)
        all += list->value;
    return all;
}

int main(void)
{
    struct node *list = calloc(1, sizeof *list);
    free(list);
    return sum(list);
}
