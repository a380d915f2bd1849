/*
 * next_functions.h - the next definitions of the functions of this room (next_functions.c).
 */
#ifndef NEXT_FUNCTIONS_H
#define NEXT_FUNCTIONS_H

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

#include "boundary.h"
#include "fortified.h"
#include "stdio_functions.h"

struct next_functions {
#define FUNCTION(name) __typeof__(name) *name;
#include "functions.def"
};

extern HIDDEN struct next_functions next_functions;

/* One of them. It is looked up late only for a library's constructor that runs before ours. */
#define NEXT_OF(name) \
    (likely(next_functions.name) ? (void)0 : boundary_start(), next_functions.name)

/* The same for functions that are jumps (streams.c). */
void streams_start(void);

#endif
