/*
 * late.c - a library whose destructor calls a function that the program has set.
 *
 * rtc-build: shared
 */
extern void (*late_call)(void);
void (*late_call)(void);

static void __attribute__((destructor)) end(void)
{
    if (late_call)
        late_call();
}
