/*
 * intercept.h - the door of intercept: the functions of libc and libstdc++ that we stand in front
 * of.  They are doorways: look at the arguments, one call one floor down.
 */
#ifndef INTERCEPT_H
#define INTERCEPT_H

#include "core.h"

/* The program's return address: the place of an allocation or a free. */
#define CALLER ((uintptr_t)__builtin_return_address(0))

#endif
