/* An object with a constant name is duplicated; original and copy are deleted. */
#include "cJSON.h"

int main(void)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToObjectCS(object, "name", cJSON_CreateString("value"));
    cJSON *copy = cJSON_Duplicate(object, 1);
    cJSON_Delete(object);
    cJSON_Delete(copy);
    return 0;
}
