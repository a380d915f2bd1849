/*
 * fuzz_baseline.c - baselines: the JSON format of baselines, and other JSON.
 *
 * rtc-build: report
 *
 * Required: no crash or leak; a refusal names the file, line and column.
 */
#include "fuzz.h"
#include "suppress.h"

#define INPUT_MAX 2048

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size < INPUT_MAX ? size : INPUT_MAX};
    char *text = malloc(in.left + 1), err[512] = "";
    struct baseline *b = NULL;
    size_t bytes = in.left;
    unsigned line, column;

    must(text != NULL, "there is memory");
    input_copy(&in, text, bytes);
    if (baseline_read_text(&b, "x.json", text, bytes, err, sizeof err) != 0) {
        must(b == NULL, "nothing is half applied");
        must(sscanf(err, "x.json:%u:%u: ", &line, &column) == 2 && column > 0,
             "a refusal says where");
    } else {
        must(b != NULL, "there is one");
    }
    baseline_free(b);
    free(text);
    return 0;
}
