/*
 * locals_library.c - thread-local storage of a library that locals.c is linked with.
 */
static _Thread_local void *volatile of_library;

void *volatile *library_place(void);

void *volatile *library_place(void)
{
    return &of_library;
}
