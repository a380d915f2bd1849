/*
 * file_heap.c - forks of a program with its heap in the file.
 *
 *     file_heap writers FORKS    three threads write while the main thread forks
 *     file_heap tree DEPTH       a tree of processes with two children each; threads allocate meanwhile
 *
 * The memory of a child must be that of one instant.  Writer w writes the round number into its blocks, one
 * after the other, and in each block keeps a + b constant.  So at any instant at most one of its blocks is
 * half written, and its blocks hold the current round up to one block, and the last round after it.
 * Prints "torn N of M forks"; the status is 1 if something else is wrong.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 1000
#define WRITERS 3
#define SUM 1000000007L

struct block {
    volatile long a, b;
    char rest[200];
};

static struct block *block[BLOCKS];
static _Atomic int over;

static void *writer(void *number)
{
    for (long round = 1; !over; round++)
        for (long i = (long)number; i < BLOCKS; i += WRITERS) {
            block[i]->a = round;
            block[i]->b = SUM - round;
        }
    return NULL;
}

static int is_torn(long number)
{
    long last = -1, steps = 0, halves = 0;
    for (long i = number; i < BLOCKS; i += WRITERS) {
        long a = block[i]->a;
        halves += a + block[i]->b != SUM;
        if (last >= 0 && a != last) {
            steps++;
            if (a != last - 1)
                return 1;
        }
        last = a;
    }
    return steps > 1 || halves > 1;
}

static int child_of_writers(void)
{
    int torn = 0;
    for (long w = 0; w < WRITERS; w++)
        torn |= is_torn(w);
    /* the child's heap is usable, and its writes are its own */
    for (int i = 0; i < BLOCKS; i++)
        memset((void *)block[i], 0x5a, sizeof *block[i]);
    for (int i = 0; i < BLOCKS; i += 2)
        free(block[i]);
    char *more = malloc(100000);
    memset(more, 1, 100000);
    free(more);
    return torn;
}

static int writers(int forks)
{
    pthread_t thread[WRITERS];
    int torn = 0, failed = 0;
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = calloc(1, sizeof *block[i]);
        block[i]->b = SUM;
    }
    for (long w = 0; w < WRITERS; w++)
        pthread_create(&thread[w], NULL, writer, (void *)w);
    for (int n = 0; n < forks; n++) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0)
            _exit(child_of_writers());
        waitpid(pid, &status, 0);
        torn += status == 1 << 8;
        failed += status != 0 && status != 1 << 8;
    }
    over = 1;
    for (int w = 0; w < WRITERS; w++)
        pthread_join(thread[w], NULL);
    for (long w = 0; w < WRITERS; w++)
        failed += is_torn(w); /* no write of this process was lost, none is the child's */
    for (int i = 0; i < BLOCKS; i++)
        free(block[i]);
    printf("torn %d of %d forks\n", torn, forks);
    return failed > 0;
}

/* ---- a tree of processes --------------------------------------------------------------------- */

#define TREE_BLOCKS 300

static void *allocate(void *unused)
{
    (void)unused;
    while (!over)
        free(memset(malloc(3000), 1, 3000));
    return NULL;
}

static char *kept[TREE_BLOCKS];

/* The blocks hold the number of the process that wrote them last: an ancestor or this process. */
static int holds(int number)
{
    for (int i = 0; i < TREE_BLOCKS; i++)
        for (int k = 0; k < 500 + i; k++)
            if (kept[i][k] != (char)number)
                return 0;
    return 1;
}

static void fill(int number)
{
    for (int i = 0; i < TREE_BLOCKS; i++)
        memset(kept[i], number, (size_t)(500 + i));
}

static int tree(int depth, int number)
{
    pthread_t thread[2];
    pid_t child[2];
    int status, bad = 0;
    over = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, allocate, NULL);
    for (int i = 0; depth > 0 && i < 2; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            int own = 2 * number + i, seen = holds(number);
            free(malloc(100)); /* it becomes an image, also if its threads do not run */
            fill(own);
            _exit(!seen || tree(depth - 1, own) || !holds(own));
        }
    }
    bad = !holds(number);
    for (int i = 0; depth > 0 && i < 2; i++)
        bad |= waitpid(child[i], &status, 0) != child[i] || status != 0;
    over = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    return bad || !holds(number);
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[2]) : 0, bad;
    if (argc > 1 && strcmp(argv[1], "writers") == 0)
        return writers(count);
    for (int i = 0; i < TREE_BLOCKS; i++)
        kept[i] = malloc((size_t)(500 + i));
    fill(1);
    bad = tree(count, 1);
    for (int i = 0; i < TREE_BLOCKS; i++)
        free(kept[i]);
    printf("tree %d\n", bad);
    return bad;
}
