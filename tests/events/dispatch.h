/*
 * dispatch.h - rows of dispatch.c that are defined in other files.
 */
#ifndef DISPATCH_H
#define DISPATCH_H

#define DISPATCH_PROCESSES                                                                        \
    {"forked", forked}, {"vforked", vforked}, {"spawned", spawned}, {"cloned", cloned},           \
        {"replaced", replaced}, {"small_stacks", small_stacks}, {"without_stack", without_stack}, \
        {"refused", refused}, {"registers", registers}, {"vectors", vectors},                     \
        {"of_another_system", of_another_system}, {"sandboxed", sandboxed}, {"trapped", trapped}, \
        {"storm", storm},

void forked(void);
void vforked(void);
void spawned(void);
void cloned(void);
void replaced(void);
void small_stacks(void);
void without_stack(void);
void refused(void);
void registers(void);
void vectors(void);
void of_another_system(void);
void sandboxed(void);
void trapped(void);
void storm(void);

#endif
