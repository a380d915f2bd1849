/*
 * signal_return.h - the code to which signal handlers return: x86-64.
 */
#ifndef SIGNAL_RETURN_H
#define SIGNAL_RETURN_H

#define SIGNAL_RESTORER 0x04000000 /* SA_RESTORER: the kernel needs its address, from us */

/* Restorer of handlers set by the runtime (rt_sigreturn); never called. */
void os_signal_return(void);

#endif
