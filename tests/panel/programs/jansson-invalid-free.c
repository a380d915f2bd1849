/* The second value of an array is packed after an error in the first. */
#include <jansson.h>

int main(void)
{
    json_t *null = NULL;
    return json_pack("[os]", null, "text") != NULL;
}
