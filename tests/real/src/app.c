/* What gdb debugs: a linked list on the heap, a recursion, a thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
    int number;
    char name[12];
    struct item *next;
};

static int weigh(const struct item *first, int depth)
{
    if (!first)
        return 0;
    return first->number * depth + weigh(first->next, depth + 1);
}

static void *work(void *arg)
{
    struct item *first = NULL;
    for (int i = 0; i < *(int *)arg; i++) {
        struct item *it = malloc(sizeof *it);
        it->number = i;
        snprintf(it->name, sizeof it->name, "item %d", i);
        it->next = first;
        first = it;
    }
    return first;
}

__attribute__((noinline)) static void stop_here(const struct item *first)
{
    printf("first is %s\n", first->name);
}

int main(void)
{
    int n = 2000;
    pthread_t thread;
    void *list;
    pthread_create(&thread, NULL, work, &n);
    pthread_join(thread, &list);
    struct item *first = list;
    first->next->next->next->next = NULL;
    stop_here(first->next->next->next->next ? NULL : first);
    printf("weight %d\n", weigh(first, 1));
    return 7;
}
