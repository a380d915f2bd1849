/* The text of a node is replaced by its own end. */
#include "mxml.h"

int main(void)
{
    mxml_node_t *node = mxmlNewText(MXML_NO_PARENT, 0, "a text of a node");
    mxmlSetText(node, 0, mxmlGetText(node, NULL) + 7);
    mxmlDelete(node);
    return 0;
}
