/* The headers of a file are read. */
#include "mspack.h"

int main(int argc, char **argv)
{
    struct mskwaj_decompressor *kwaj = mspack_create_kwaj_decompressor(NULL);
    struct mskwajd_header *header = kwaj->open(kwaj, argc > 1 ? argv[1] : "");
    if (header)
        kwaj->close(kwaj, header);
    mspack_destroy_kwaj_decompressor(kwaj);
    return 0;
}
