/*
 * late.c - a library whose destructor calls what the program told it to.
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
