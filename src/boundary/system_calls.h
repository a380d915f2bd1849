/*
 * system_calls.h - the next definitions of the functions of system_calls.def (system_calls.c).
 */
#ifndef SYSTEM_CALLS_H
#define SYSTEM_CALLS_H

#include <sys/socket.h>

#include "boundary.h"

typedef long system_call(long a, long b, long c, long d, long e, long f);

typedef long recvfrom_chk_call(long fd, void *to, size_t n, size_t room, long flags, void *from,
                               socklen_t *length);
recvfrom_chk_call __recvfrom_chk;

struct next_calls {
#define CALL(name, entry, checks) system_call *name;
#include "system_calls.def"
};

extern HIDDEN struct next_calls next_calls;

/* Look them up. */
void system_calls_start(void);

/* Look up the next definition of a function: *slot is a pointer to it. */
void boundary_look_up(void *slot, const char *name);

#endif
