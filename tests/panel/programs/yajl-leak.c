/* A text that ends inside an array of objects is parsed. */
#include <yajl/yajl_tree.h>

int main(void)
{
    char error[1024];
    return yajl_tree_parse("{\"sizes\": [1, {\"name\": \"large\", \"values\": [2, 3", error,
                           sizeof error) != NULL;
}
