/*
 * static_pie.c - the same, at a random address: looks like a library, has no interpreter.
 *
 * rtc-build: -static-pie
 */
int main(void)
{
    return 9;
}
