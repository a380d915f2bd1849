/* A file is loaded. */
#include "tinyxml.h"

int main(int, char **argv)
{
    TiXmlDocument document(argv[1]);
    return !document.LoadFile();
}
