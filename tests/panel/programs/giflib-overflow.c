/* A graphics control block is put into an image that has a shorter one. */
#include "gif_lib.h"
#include <stdlib.h>

int main(void)
{
    unsigned char shorter[] = "ab";
    SavedImage image = {0};
    GifFileType file = {.ImageCount = 1, .SavedImages = &image};
    GraphicsControlBlock control = {.DelayTime = 10};
    GifAddExtensionBlock(&image.ExtensionBlockCount, &image.ExtensionBlocks, GRAPHICS_EXT_FUNC_CODE,
                         2, shorter);
    EGifGCBToSavedExtension(&control, &file, 0);
    GifFreeExtensions(&image.ExtensionBlockCount, &image.ExtensionBlocks);
    return 0;
}
