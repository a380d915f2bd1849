/*
 * signal_return.h - the code to which signal handlers return: AArch64.
 */
#ifndef SIGNAL_RETURN_H
#define SIGNAL_RETURN_H

#define SIGNAL_RESTORER 0 /* the kernel provides the code (vdso) */

/* Restorer of handlers set by the runtime (rt_sigreturn); never called. */
void os_signal_return(void);

#endif
