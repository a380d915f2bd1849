/* The value of a string is replaced by that of a number, which has no text. */
#include "cJSON.h"

int main(void)
{
    cJSON *text = cJSON_CreateString("text");
    cJSON *number = cJSON_CreateNumber(1);
    char *set = cJSON_SetValuestring(text, cJSON_GetStringValue(number));
    cJSON_Delete(text);
    cJSON_Delete(number);
    return set != NULL;
}
