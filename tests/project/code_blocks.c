/*
 * code_blocks.c - programs for commands in the documents that need more than a finding.
 *
 *     code_blocks many | thread
 *
 * many: enough allocations for each kind of own cost, and a block in use.  thread: a second thread waits for two seconds.
 *
 * rtc-build: -O1 -g
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MANY 200000u
#define KEPT 512u

static void *volatile in_use;

static void many(void)
{
    void *kept[KEPT] = {NULL};
    for (unsigned i = 0; i < MANY; i++) {
        free(kept[i % KEPT]);
        kept[i % KEPT] = malloc(16 + i % 200);
    }
    for (unsigned i = 1; i < KEPT; i++)
        free(kept[i]);
    in_use = kept[0];
}

static void *wait_two_seconds(void *unused)
{
    for (struct timespec rest = {.tv_sec = 2}; nanosleep(&rest, &rest) != 0;)
        continue;
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc == 2 && strcmp(argv[1], "many") == 0)
        many();
    else if (argc == 2 && pthread_create(&thread, NULL, wait_two_seconds, NULL) == 0)
        pthread_join(thread, NULL);
    return 0;
}
