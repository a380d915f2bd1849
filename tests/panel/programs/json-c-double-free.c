/* The last element of a list is deleted, and another one is put in its place. */
#include "arraylist.h"
#include <stdlib.h>
#include <string.h>

int main(void)
{
    struct array_list *list = array_list_new2(free, 4);
    array_list_add(list, strdup("first"));
    array_list_add(list, strdup("second"));
    array_list_del_idx(list, 1, 1);
    array_list_put_idx(list, 1, strdup("third"));
    array_list_free(list);
    return 0;
}
