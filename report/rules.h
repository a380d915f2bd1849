/*
 * rules.h - suppressions: which findings are not told, by rules out of files of three grammars.
 *
 * A list is filled first, then sealed, then asked; what a question costs hardly depends on how many
 * rules there are.  Of all rules that a finding meets the last one decides, whatever grammar it is in:
 * it may also say that the finding is shown.  Not thread-safe.
 */
#ifndef RULES_H
#define RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report.h"

/* What a rule is about; bits of a set. */
enum rule_code_bit {
#define ERROR(id, ...) CODE_BIT_##id,
#define LEAK(id, ...) CODE_BIT_##id,
#include "rtcheck/findings.def"
    CODE_BIT_OTHER
};

enum rule_code {
#define ERROR(id, ...) CODE_##id = 1 << CODE_BIT_##id,
#define LEAK(id, ...) CODE_##id = 1 << CODE_BIT_##id,
#include "rtcheck/findings.def"
    CODE_OTHER = 1 << CODE_BIT_OTHER, /* what other checkers find, and this one does not */
};

#define CODES_LEAKS (CODE_MEL | CODE_AIB | CODE_AIR | CODE_BIU)
#define CODES_FREES (CODE_BAF | CODE_DUF | CODE_MAF | CODE_MIS)
#define CODES_ALL (2 * CODE_OTHER - 1)

/* The code of `bytes` bytes at `name`; 0: there is none of that name. */
uint32_t rule_code_of(const char *name, size_t bytes);

enum rule_grammar { GRAMMAR_RTC, GRAMMAR_VALGRIND, GRAMMAR_LSAN };

enum rule_scope {
    SCOPE_ALL,       /* wherever it is */
    SCOPE_STACK,     /* the stack begins with the locations, in their order */
    SCOPE_ANY_FRAME, /* a frame of it is one of the locations */
    SCOPE_PLACE,     /* the innermost frame is one of them */
    SCOPE_STRIPPED,  /* that frame lies in a file with no names but those for others */
    SCOPE_ADDRESS,
};

/* What of a frame a location speaks of. */
enum location_field {
    FIELD_ELLIPSIS, /* any number of frames */
    FIELD_FUN, /* the name that the linker has; of what was inlined that of its declaration, too */
    FIELD_OBJ,
    FIELD_SRC,
    FIELD_ANY,  /* function as the source has it, file or object, anything of their paths */
    FIELD_WORD, /* the same, each by its name */
    FIELD_COUNT
};

struct location {
    enum location_field field;
    uint32_t pattern; /* of patterns.h; 0: of an ellipsis */
    uint32_t line;    /* 0: any */
};

struct rule {
    char *name;
    char *file; /* where it stands; NULL: built in */
    uint32_t line;
    char *program; /* whose findings alone it is about; NULL: all */
    enum rule_grammar grammar;
    enum rule_scope scope;
    bool is_shown; /* findings that it decides about are told */
    uint32_t codes;
    uint32_t leak_kinds; /* of leaks: bits of enum leak_kind */
    uint64_t address;
    struct location *locations;
    uint32_t location_count;

    char *reason;     /* NULL: none was given */
    char expires[11]; /* 2027-01-31, the last day that it holds; "": for ever */
    uint64_t max;     /* hits; 0: any number */
    bool is_expired;

    uint64_t findings; /* that it decided about */
    uint64_t hits;     /* how often those were: errors, or leaked blocks */
    uint64_t bytes;
    uint64_t over; /* hits beyond max */
};

struct patterns;
struct rule_index;

struct rules {
    struct rule *rule;
    uint32_t count;
    uint32_t other_tools; /* entries for checkers whose findings are none of ours */
    char today[11];       /* what expiry is measured by */
    struct patterns *patterns;
    struct rule_index *index; /* NULL: not sealed */
    uint64_t tried;           /* rules that were compared with a finding */
};

/* rules_new, rules_free, rules_read_file, rules_add_default and rules_seal are report.h's. */

/* Rules out of a text that `name` stands for, as rules_read_file. */
int rules_read_text(struct rules *rules, const char *name, const char *text, size_t bytes,
                    char *err, size_t room);

/* ---- asking ---------------------------------------------------------------------------------- */

/* What of a function in a stack is compared; texts of patterns.h, 0 = not known. */
enum spot_text {
    SPOT_SYSTEM,    /* as the linker has it */
    SPOT_ALIAS,     /* another name of it: without version, without a library's underscores */
    SPOT_DECLARED,  /* of one that was inlined, which valgrind knows by its declaration */
    SPOT_LOCAL,     /* of one that other files do not see, which LeakSanitizer knows by that */
    SPOT_SIMPLE,    /* without namespaces, templates and parameters */
    SPOT_FULL,      /* as the source has it */
    SPOT_QUALIFIED, /* the same without parameters */
    SPOT_FILE,
    SPOT_FILE_BASE,
    SPOT_OBJECT,
    SPOT_OBJECT_BASE,
    SPOT_TEXTS
};

/* One function in a stack: a frame has several where functions were put into others. */
struct spot {
    uint32_t text[SPOT_TEXTS];
    uint32_t line;
    const uint32_t *names; /* further ones of SPOT_SYSTEM: an entry that may be one of several */
    uint32_t name_count;
};

struct subject {
    uint32_t code; /* one bit */
    uint32_t leak_kind;
    uint64_t address; /* and how many bytes from it on belong to it */
    uint64_t bytes_there;
    const char *program;             /* NULL: several */
    const struct spot *const *spots; /* innermost first; at first entries: malloc, free, .. */
    uint32_t spot_count;
    uint32_t entry_count; /* of them; a stack may begin with any of these */
    uint32_t place_count; /* of them, behind the entries, those of the innermost frame */
    bool is_cut;          /* more frames than are kept */
    bool is_stripped;     /* see SCOPE_STRIPPED */
    uint64_t hits;
    uint64_t bytes;
};

#define NO_RULE UINT32_MAX

/* Might a rule meet findings of this code and kind; and one that looks at names of their stacks? */
bool rules_apply_to(const struct rules *rules, uint32_t code, uint32_t leak_kind);
bool rules_need_names(const struct rules *rules, uint32_t code, uint32_t leak_kind);
/* The rule that decides about a finding; NO_RULE: none.  The same as often as it is asked. */
uint32_t rules_find(struct rules *rules, const struct subject *finding);
/* The same, and counted: after it a rule's max may be reached. */
uint32_t rules_decide(struct rules *rules, const struct subject *finding);

#endif
