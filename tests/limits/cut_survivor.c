/*
 * cut_survivor.c - a program that truncates the run file, and then uses its blocks again.
 *
 *     cut_survivor BYTES...   truncates the file to BYTES while threads allocate, several times
 *     cut_survivor many BYTES         the same without threads, with 20,000 blocks of one size
 *     cut_survivor signal NUMBER      truncates it to 0, and is ended by that signal
 *     cut_survivor handler    installs a SIGBUS handler, then truncates the file to 0
 *
 * Started without rtcheck the first form prints the same.
 *
 * rtc-build: -pthread
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 800u
#define THREADS 3u
#define ROUNDS 100u /* of each thread */

static const size_t size_of[] = {1, 24, 100, 500, 3000, 9000, 70000, 300000};

struct block {
    unsigned char *at;
    size_t bytes;
    unsigned char content;
};

static struct block block[BLOCKS];
static atomic_uint wrong;

static void fill(struct block *b, size_t bytes, unsigned content)
{
    *b = (struct block){malloc(bytes), bytes, (unsigned char)content};
    memset(b->at, b->content, bytes);
}

static void verify(const struct block *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (b->at[i] != b->content)
            atomic_fetch_add(&wrong, 1);
    if (malloc_usable_size(b->at) < bytes)
        atomic_fetch_add(&wrong, 1);
}

static void change(struct block *b, unsigned i)
{
    size_t before = b->bytes, now = size_of[i % 8] + i % 13;
    verify(b, before);
    if (i % 3) {
        free(b->at);
        fill(b, now, i);
        return;
    }
    b->at = realloc(b->at, now);
    verify(b, before < now ? before : now);
    b->bytes = now;
    memset(b->at, b->content, now);
}

static void *thread(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    struct block own[16];
    for (unsigned i = 0; i < 16; i++)
        fill(&own[i], size_of[i % 7], i);
    for (unsigned round = 0; round < ROUNDS; round++)
        change(&own[(round + seed) % 16], round * 7 + seed);
    for (unsigned i = 0; i < 16; i++)
        free(own[i].at);
    return NULL;
}

/* The program finds the file as anybody would who looks for what is mapped. */
static void truncate_run_file(off_t bytes)
{
    char line[600];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/');
        if (!path || !strstr(path, ".pool"))
            continue;
        path[strcspn(path, "\n")] = '\0';
        if (truncate(path, bytes))
            perror(path);
        break;
    }
    if (maps)
        fclose(maps);
}

static void use_all(unsigned seed)
{
    for (unsigned i = 0; i < BLOCKS; i++)
        change(&block[i], i + seed);
}

static int child(unsigned seed)
{
    pthread_t other;
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        use_all(seed);
        pthread_create(&other, NULL, thread, NULL);
        pthread_join(other, NULL);
        exit(atomic_load(&wrong) ? 1 : 5);
    }
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

static void on_bus(int signal)
{
    static const char text[] = "SIGBUS handled\n";
    (void)signal;
    _exit(write(1, text, sizeof text - 1) == sizeof text - 1 ? 4 : 1);
}

static int handle(void)
{
    signal(SIGBUS, on_bus);
    truncate_run_file(0);
    free(malloc(100));
    return 1;
}

/* Threads are in the middle of malloc and free when the file is truncated. */
static void truncate_amid_threads(off_t bytes, unsigned seed)
{
    pthread_t other[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&other[i], NULL, thread, (void *)(uintptr_t)i);
    truncate_run_file(bytes);
    use_all(seed);
    printf("truncated, child %#x\n", (unsigned)child(seed + 1));
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(other[i], NULL);
}

/* Records of these blocks are in many pages: the file's last page has some of them. */
static int use_many(off_t bytes)
{
    static struct block many[20000];
    for (unsigned i = 0; i < 20000; i++)
        fill(&many[i], 100, i);
    truncate_run_file(bytes);
    for (unsigned i = 0; i < 20000; i++) {
        verify(&many[i], 100);
        unsigned char *moved = realloc(many[i].at, 200);
        atomic_fetch_add(&wrong, !moved);
        many[i].at = moved ? moved : many[i].at;
        verify(&many[i], 100);
        free(many[i].at);
    }
    printf("wrong %u\n", atomic_load(&wrong));
    return 3;
}

static int be_ended(int signal)
{
    truncate_run_file(0);
    raise(signal);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "many") == 0)
        return use_many(atoll(argv[2]));
    if (argc == 3 && strcmp(argv[1], "signal") == 0)
        return be_ended(atoi(argv[2]));
    if (argc > 1 && strcmp(argv[1], "handler") == 0)
        return handle();
    for (unsigned i = 0; i < BLOCKS; i++)
        fill(&block[i], size_of[i % 7], i);
    for (int i = 1; i < argc; i++)
        truncate_amid_threads(atoll(argv[i]), (unsigned)i);
    use_all(99);
    for (unsigned i = 0; i < BLOCKS; i++)
        free(block[i].at);
    printf("wrong %u\n", atomic_load(&wrong));
    return 3;
}
