/*
 * pack_priv.h - shared by the parts of the room pack.
 */
#ifndef PACK_PRIV_H
#define PACK_PRIV_H

#include <archive.h>
#include <archive_entry.h>
#include <jansson.h>

#include "pack.h"

#define MANIFEST_NAME "manifest.json"
#define RUN_NAME "run"
#define ROOT_NAME "root"
#define MANIFEST_BYTES_MAX (64u << 20)

/* ---- library.c ------------------------------------------------------------------------------- */

/* The functions of libarchive that are used. */
/* clang-format off */
#define LIBARCHIVE_FUNCTIONS(F) \
    F(archive_errno) F(archive_error_string) F(archive_entry_new) F(archive_entry_clear) \
    F(archive_entry_free) F(archive_entry_set_pathname) F(archive_entry_set_filetype) \
    F(archive_entry_set_perm) F(archive_entry_set_size) F(archive_entry_sparse_add_entry) \
    F(archive_entry_pathname) F(archive_entry_filetype) F(archive_entry_size) \
    F(archive_entry_hardlink) F(archive_write_new) \
    F(archive_write_set_format_pax_restricted) F(archive_write_add_filter_zstd) \
    F(archive_write_add_filter_gzip) F(archive_write_open_FILE) F(archive_write_set_bytes_in_last_block) \
    F(archive_write_set_format_option) \
    F(archive_write_header) \
    F(archive_write_data) F(archive_write_close) F(archive_write_free) F(archive_read_new) \
    F(archive_read_support_format_tar) F(archive_read_support_filter_gzip) \
    F(archive_read_support_filter_zstd) F(archive_read_open_fd) F(archive_read_next_header) \
    F(archive_read_data_block) F(archive_read_free)
/* clang-format on */

#define LIBARCHIVE_FIELD(f) __typeof__(f) *f;
extern struct library {
    LIBARCHIVE_FUNCTIONS(LIBARCHIVE_FIELD)
} library;

/* Load it.  -ENOENT: it is not installed. */
int libarchive_load(char err[TOOLS_ERROR_BYTES]);

/* ---- manifest.c ------------------------------------------------------------------------------ */

json_t *manifest_new(const char *run_name);
/* Add an object of the report; `is_packed`: the pack has its file, of `bytes`. */
void manifest_add_object(json_t *manifest, const struct report_object *object, bool is_packed,
                         uint64_t bytes);
void manifest_add_debug_file(json_t *manifest, const char *path, uint64_t bytes);
void manifest_add_source(json_t *manifest, const struct report_source *source, bool is_packed);
/* Check the text of a manifest.  NULL: err has the reason.  Freed by json_decref. */
json_t *manifest_read(const char *text, size_t bytes, char err[TOOLS_ERROR_BYTES]);
/* Name its sources to the report. */
void manifest_apply(const json_t *manifest, struct report *r);

/* ---- unpack.c -------------------------------------------------------------------------------- */

/* Does the file begin as an archive that is compressed? */
bool is_archive(int fd);
/* Unpack into the private folder.  *manifest is freed by json_decref. */
int unpack(int fd, const char *path, json_t **manifest, char err[TOOLS_ERROR_BYTES]);

#endif
