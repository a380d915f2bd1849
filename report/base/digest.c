/* digest.c - the digest of a file: XXH3 with 128 bits, as xxh128sum prints it. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "basics.h"

#define CHUNK_BYTES (64u << 10)

static int add_bytes(XXH3_state_t *state, int fd, char *chunk)
{
    for (off_t at = 0;;) {
        ssize_t n = pread(fd, chunk, CHUNK_BYTES, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        XXH3_128bits_update(state, chunk, (size_t)n);
        at += n;
    }
}

int digest_of_file(int fd, char digest[REPORT_DIGEST_BYTES])
{
    XXH3_state_t *state = xalloc(XXH3_createState());
    char *chunk = xalloc(malloc(CHUNK_BYTES));
    int err;

    XXH3_128bits_reset(state);
    err = add_bytes(state, fd, chunk);
    XXH128_hash_t sum = XXH3_128bits_digest(state);
    snprintf(digest, REPORT_DIGEST_BYTES, "%016llx%016llx", (unsigned long long)sum.high64,
             (unsigned long long)sum.low64);
    free(chunk);
    XXH3_freeState(state);
    return err;
}
