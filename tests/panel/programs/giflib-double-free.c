/* A copy of an image fails, as the table of colours has a wrong size; the image is freed afterwards. */
#include "gif_lib.h"
#include <stdlib.h>

int main(void)
{
    GifFileType file = {0};
    SavedImage image = {.ImageDesc = {.Width = 4, .Height = 4}};
    image.ImageDesc.ColorMap = GifMakeMapObject(4, NULL);
    image.ImageDesc.ColorMap->ColorCount = 3;
    image.RasterBits = calloc(4, 4);
    SavedImage *copy = GifMakeSavedImage(&file, &image);
    GifFreeMapObject(image.ImageDesc.ColorMap);
    free(image.RasterBits);
    free(file.SavedImages);
    return copy != NULL;
}
