/*
 * symbolize.c - symbolization by libdwfl: module + offset to function, file and line, from files
 * only.
 *
 * The process may have ended and its files may have changed. So a file is used only if its build-id
 * equals the recorded one, or if none was recorded. Paths come from the run file and are untrusted:
 * only regular files are opened. If root reads another user's run, only files of root are opened,
 * as a parser of debugging information must not read a prepared file.
 *
 * Debugging information may be in a separate file, found by build-id or debug link. It is fetched
 * over the network only if DEBUGINFOD_URLS is set. Fetching stops once servers have caused too long
 * a wait without a result.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "helper_priv.h"
#include "symbols_priv.h"

/*
 * Defaults for debuginfod, unless the user sets them: seconds for the first 100 KiB, and retries.
 */
#define NETWORK_TIMEOUT "10"
#define NETWORK_RETRIES "0"
#define NETWORK_EXTRA_TIME 8 /* total seconds of waiting without a result */

/* libdwfl queries servers if this variable is set; unset it for the next call. */
static char *take_urls(void)
{
    const char *set = getenv("DEBUGINFOD_URLS");
    char *urls = set ? xalloc(strdup(set)) : NULL;

    unsetenv("DEBUGINFOD_URLS");
    return urls;
}

static void put_back_urls(char *urls)
{
    if (urls)
        setenv("DEBUGINFOD_URLS", urls, 1);
    free(urls);
}

/* Root reads only files of root: libdwfl also looks for the file beside the program. */
static int close_unless_trusted(const struct report *r, int fd)
{
    struct stat st;

    if (fd < 0 || !r->view.foreign || (fstat(fd, &st) == 0 && st.st_uid == 0))
        return fd;
    close(fd);
    return -1;
}

/* Keep the path of a file that libdwfl has found, for object_files.c. */
static void found_put(struct report *r, const Dwfl_Module *module, const char *path)
{
    for (uint32_t i = 0; path && i < r->symbols_count; i++) {
        struct symbols *s = &r->symbols[i];
        if (s->module == module && s->found_count < countof(s->found))
            s->found[s->found_count++] = xalloc(strdup(path));
    }
}

static char *debug_path; /* libdwfl's list of folders, set before each search */

static int find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                          const char *file, const char *debuglink, GElf_Word crc, char **found)
{
    struct report *r = *user;
    char *urls = r->wasted_wait_seconds >= NETWORK_EXTRA_TIME ? take_urls() : NULL;
    time_t start = time(NULL);
    int fd;

    debug_path = r->debug_path;
    setenv("DEBUGINFOD_TIMEOUT", NETWORK_TIMEOUT, 0);
    setenv("DEBUGINFOD_RETRY_LIMIT", NETWORK_RETRIES, 0);
    fd = dwfl_standard_find_debuginfo(module, user, name, base, file, debuglink, crc, found);
    if (fd < 0)
        r->wasted_wait_seconds += time(NULL) - start;
    put_back_urls(urls);
    fd = close_unless_trusted(r, fd);
    if (fd >= 0)
        found_put(r, module, *found);
    return fd;
}

static const Dwfl_Callbacks callbacks = {
    .section_address = dwfl_offline_section_address,
    .find_debuginfo = find_debuginfo,
    .debuginfo_path = &debug_path,
};

/* Add a folder to libdwfl's list, in which a colon cannot be part of a name. */
static void folder_put(FILE *out, const char *folder, size_t bytes, const char *below)
{
    if (bytes > 0 && !memchr(folder, ':', bytes))
        fprintf(out, ":%.*s%s", (int)bytes, folder, below);
}

void report_find_files(struct report *r, const char *sysroot, const char *debug_dirs)
{
    size_t bytes;
    FILE *out;
    char *root;

    if (!*sysroot && packed_root(r))
        sysroot = packed_root(r);
    root = *sysroot ? realpath(sysroot, NULL) : NULL; /* NULL: no such folder, no files */
    free(r->sysroot);
    free(r->debug_path);
    r->sysroot = root ? root : *sysroot ? xalloc(strdup(sysroot)) : NULL;
    out = xalloc(open_memstream(&r->debug_path, &bytes));
    fputs(":.debug", out); /* as libdwfl's default */
    for (const char *at = debug_dirs, *end; *at; at = end + (*end == '\n')) {
        end = strchrnul(at, '\n');
        folder_put(out, at, (size_t)(end - at), "");
    }
    if (r->sysroot)
        folder_put(out, r->sysroot, strlen(r->sysroot), "/usr/lib/debug");
    fputs(":/usr/lib/debug", out);
    fclose(out);
    xalloc(r->debug_path);
}

static int trusted_open(const struct report *r, const char *path, enum module_symbols *why)
{
    struct stat st;
    int fd = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;

    *why = SYMBOLS_NO_FILE;
    if (fd < 0)
        return -1;
    /* Files in /proc are regular, too, but have size 0. */
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        if (!r->view.foreign || st.st_uid == 0)
            return fd;
        *why = SYMBOLS_NOT_TRUSTED;
    }
    close(fd);
    return -1;
}

int module_open(const struct report *r, const char *path, bool is_compared,
                enum module_symbols *why)
{
    char *inside;
    int fd;

    if (!r->sysroot || path[0] != '/')
        return trusted_open(r, path, why);
    if (asprintf(&inside, "%s%s", r->sysroot, path) < 0)
        inside = xalloc(NULL);
    fd = trusted_open(r, inside, why);
    free(inside);
    if (fd >= 0 || *why != SYMBOLS_NO_FILE || (r->packed && !is_compared))
        return fd;
    return trusted_open(r, path, why);
}

static int module_file(const struct report *r, const struct module *module,
                       enum module_symbols *why)
{
    return module_open(r, module->path, module->build_id_bytes > 0, why);
}

int report_object_open(const struct report *r, uint32_t index)
{
    enum module_symbols why;

    return module_file(r, &r->modules[index], &why);
}

int debug_file_open(const struct report *r, const char *path)
{
    enum module_symbols why;

    return trusted_open(r, path, &why);
}

bool module_has_file(struct report *r, uint32_t index)
{
    struct module *module = index == NO_MODULE ? NULL : &r->modules[index];
    enum module_symbols why;
    int fd;

    if (!module || module->symbols != SYMBOLS_UNTRIED)
        return module && module->symbols >= SYMBOLS_EXPORTED;
    fd = module_file(r, module, &why);
    if (fd < 0)
        module->symbols = why;
    else
        close(fd);
    return fd >= 0;
}

static bool is_recorded_build(Dwfl_Module *found, const struct module *module)
{
    const unsigned char *id;
    GElf_Addr where;
    int bytes = dwfl_module_build_id(found, &id, &where);

    if (module->build_id_bytes == 0)
        return true;
    return bytes == (int)module->build_id_bytes &&
           memcmp(id, module->build_id, module->build_id_bytes) == 0;
}

/* Does the file itself have a .symtab? Dynamic symbols are always present. */
static bool has_symbol_table(const struct symbols *s)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(s->module, &bias);
    GElf_Shdr h;

    for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section));)
        if (gelf_getshdr(section, &h) && h.sh_type == SHT_SYMTAB)
            return true;
    return false;
}

/* Load the module's file. Returns the kind of its symbols, or why it has none. */
static enum module_symbols load_module(struct report *r, struct symbols *s,
                                       const struct module *module, int fd)
{
    Dwarf_Addr bias;
    void **user;

    dwfl_report_begin(s->dwfl);
    s->module = dwfl_report_offline(s->dwfl, module->path, module->path, fd);
    if (!s->module)
        close(fd);
    dwfl_report_end(s->dwfl, NULL, NULL);
    if (!s->module || !dwfl_module_getelf(s->module, &s->bias))
        return SYMBOLS_UNREADABLE;
    if (!is_recorded_build(s->module, module))
        return SYMBOLS_ANOTHER_BUILD;
    dwfl_module_info(s->module, &user, NULL, NULL, NULL, NULL, NULL, NULL);
    *user = r;
    if (dwfl_module_getdwarf(s->module, &bias))
        return SYMBOLS_LINES;
    return has_symbol_table(s) ? SYMBOLS_NAMES : SYMBOLS_EXPORTED;
}

static void symbols_load(struct report *r, struct symbols *s, struct module *module)
{
    int fd = module_file(r, module, &module->symbols);

    s->tried = true;
    if (fd < 0)
        return;
    s->dwfl = dwfl_begin(&callbacks);
    if (!s->dwfl) {
        close(fd);
        return;
    }
    module->symbols = load_module(r, s, module, fd);
    if (module->symbols < SYMBOLS_EXPORTED) {
        dwfl_end(s->dwfl);
        s->dwfl = NULL;
    }
}

struct symbols *symbols_of(struct report *r, uint32_t module)
{
    if (r->symbols_count < r->module_count) {
        r->symbols = xalloc(reallocarray(r->symbols, r->module_count, sizeof *r->symbols));
        memset(r->symbols + r->symbols_count, 0,
               (r->module_count - r->symbols_count) * sizeof *r->symbols);
        r->symbols_count = r->module_count;
    }
    if (!r->symbols[module].tried)
        symbols_load(r, &r->symbols[module], &r->modules[module]);
    return r->symbols[module].dwfl ? &r->symbols[module] : NULL;
}

/* ---- one frame ------------------------------------------------------------------------------- */

static void frame_take_line(struct frame *frame, struct symbols *s, Dwarf_Addr address)
{
    frame->file = line_find(&s->lines, s->module, address, &frame->line);
    if (!frame->file)
        frame->line = 0;
}

static void frame_take_inlines(struct frame *frame, struct symbols *s, Dwarf_Addr address)
{
    Dwarf_Addr bias;
    Dwarf_Die unit;

    if (unit_find(&s->lines, s->module, address, &unit, &bias))
        inlines_find(&s->functions, &unit, address - bias, frame);
}

/*
 * The site of a client block is the caller's line, not the header's inline function rtc_record_*.
 */
static void frame_drop_header(struct frame *frame)
{
    struct inlined *first = frame->inlined;
    const char *name = frame->inlined_count == 0 ? NULL
                       : first->function         ? first->function
                                                 : first->system_name;

    if (!name || strncmp(name, "rtc_record_", strlen("rtc_record_")) != 0)
        return;
    free(first->function);
    free(first->system_name);
    free(frame->file);
    frame->file = first->call_file;
    frame->line = first->call_line;
    memmove(first, first + 1, --frame->inlined_count * sizeof *first);
}

/*
 * Symbolize a frame. The lookup uses the return address - 1: after a call that is the last
 * instruction of a function, the return address lies in the next function.
 */
void frame_symbolize(struct report *r, struct frame *frame)
{
    struct symbols *s;
    Dwarf_Addr address, bias;
    const char *name;
    GElf_Off offset;
    GElf_Sym sym;

    frame->tried = true;
    if (frame->module == NO_MODULE || !(s = symbols_of(r, frame->module)))
        return;
    address = frame->offset - !frame->exact + s->bias;
    name = name_find(&s->names, s->module, address, &offset, &sym);
    if (name && name[0]) {
        frame->system_name = xalloc(strdup(name));
        frame->function = demangle(name);
        frame->in_function = offset + !frame->exact;
    }
    frame_take_line(frame, s, address);
    frame_take_inlines(frame, s, address);
    frame_drop_header(frame);
    if (!frame->exact)
        frame->calls = entry_called(&s->slots, dwfl_module_getelf(s->module, &bias), frame->offset);
}

uint32_t frame_lines(const struct frame *frame, struct source_line *lines, uint32_t max)
{
    const char *file = frame->file;
    uint32_t count = 0;
    int line = frame->line;

    for (uint32_t i = 0; i < frame->inlined_count && count < max; i++) {
        const struct inlined *in = &frame->inlined[i];
        lines[count++] =
            (struct source_line){in->function ? in->function : in->system_name, in->system_name,
                                 file, line, in->declared ? in->declared : in->system_name};
        file = in->call_file;
        line = in->call_line;
    }
    if (count < max)
        lines[count++] =
            (struct source_line){frame->function ? frame->function : frame->system_name,
                                 frame->system_name, file, line, NULL};
    return count;
}

const char *line_name(const struct report *r, const struct source_line *line)
{
    return r->is_mangled && line->system_name ? line->system_name : line->function;
}

uint32_t frame_lines_shown(const struct report *r, const struct frame *frame,
                           struct source_line *lines, uint32_t max)
{
    uint32_t count = frame_lines(frame, lines, max);

    for (uint32_t i = 0; i < count; i++)
        lines[i].function = line_name(r, &lines[i]);
    return count;
}

void symbols_free(struct report *r)
{
    for (uint32_t i = 0; i < r->symbols_count; i++) {
        names_free(r->symbols[i].names);
        lines_free(r->symbols[i].lines);
        functions_free(r->symbols[i].functions);
        slots_free(r->symbols[i].slots);
        variables_close(r->symbols[i].variables);
        for (uint32_t n = 0; n < r->symbols[i].found_count; n++)
            free(r->symbols[i].found[n]);
        if (r->symbols[i].dwfl)
            dwfl_end(r->symbols[i].dwfl);
    }
    free(r->symbols);
    free(r->sysroot);
    free(r->debug_path);
}
