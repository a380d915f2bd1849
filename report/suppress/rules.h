/*
 * rules.h - suppressions: rules from files of three grammars that hide findings.
 *
 * A list is filled, then sealed, then queried; the cost of a query hardly depends on the number of
 * rules. The last rule that matches a finding decides, whatever its grammar; it may also decide
 * that the finding is shown. Not thread-safe.
 */
#ifndef RULES_H
#define RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report.h"

/* Codes that a rule applies to; bits of a set. */
enum rule_code_bit {
#define ERROR(id, ...) CODE_BIT_##id,
#define LEAK(id, ...) CODE_BIT_##id,
#include "format/findings.def"
    CODE_BIT_OTHER
};

enum rule_code {
#define ERROR(id, ...) CODE_##id = 1 << CODE_BIT_##id,
#define LEAK(id, ...) CODE_##id = 1 << CODE_BIT_##id,
#include "format/findings.def"
    CODE_OTHER = 1 << CODE_BIT_OTHER, /* kinds of findings that only other checkers make */
};

#define CODES_LEAKS (CODE_MEL | CODE_AIB | CODE_AIR | CODE_BIU)
#define CODES_ACCESSES (CODE_RUA | CODE_WUA)
#define CODES_PARAMS (CODES_ACCESSES | CODE_RUI) /* arguments of system calls */
#define CODES_FREES (CODE_BAF | CODE_DUF | CODE_MAF | CODE_MIS)
#define CODES_ALL (2 * CODE_OTHER - 1)

/* The code named by `bytes` bytes at `name`. 0: there is none. */
uint32_t rule_code_of(const char *name, size_t bytes);

enum rule_grammar { GRAMMAR_RTC, GRAMMAR_VALGRIND, GRAMMAR_LSAN };

enum rule_scope {
    SCOPE_ALL,       /* any finding */
    SCOPE_STACK,     /* the innermost frames match the locations, in order */
    SCOPE_ANY_FRAME, /* any frame matches one of the locations */
    SCOPE_PLACE,     /* the innermost frame matches one of them */
    SCOPE_STRIPPED,  /* the innermost frame is in a file with only exported symbols */
    SCOPE_ADDRESS,
};

/* The part of a frame that a location is compared with. */
enum location_field {
    FIELD_ELLIPSIS, /* any number of frames */
    FIELD_FUN, /* the linker's name of a function; for inlined functions also the declared name */
    FIELD_OBJ,
    FIELD_SRC,
    FIELD_ANY,  /* function (linker's or source name), file or object, by full path */
    FIELD_WORD, /* the same, and names without path, scope or parameters */
    FIELD_COUNT
};

struct location {
    enum location_field field;
    uint32_t pattern; /* number in patterns.h; 0: ellipsis */
    uint32_t line;    /* 0: any */
};

struct rule {
    char *name;
    char *file; /* file that contains the rule; NULL: built in */
    uint32_t line;
    char *program; /* applies only to findings of this program; NULL: all */
    enum rule_grammar grammar;
    enum rule_scope scope;
    bool is_shown;       /* findings that match are shown, not hidden */
    bool may_skip_entry; /* of valgrind's grammar, for our own name as tool */
    uint32_t codes;
    uint32_t leak_kinds; /* for leaks: bits of enum leak_kind */
    uint64_t address;
    uint32_t call; /* pattern of the innermost function, in addition to the locations; 0: any */
    struct location *locations;
    uint32_t location_count;

    char *reason;     /* NULL: none given */
    char expires[11]; /* last day of validity, e.g. 2027-01-31; "": unlimited */
    uint64_t max;     /* maximum of hits; 0: unlimited */
    bool is_expired;

    uint64_t findings; /* number of findings that it decided */
    uint64_t hits;     /* sum of their counts: errors, or leaked blocks */
    uint64_t bytes;
    uint64_t over; /* hits of findings that exceeded max */
};

struct patterns;
struct rule_index;

struct rules {
    struct rule *rule;
    uint32_t count;
    uint32_t other_tools; /* entries for other tools, which are skipped */
    char today[11];       /* date that expiry is compared with */
    struct patterns *patterns;
    struct rule_index *index; /* NULL: not sealed */
    uint64_t tried;           /* comparisons of a rule with a finding */
};

/* report.h declares rules_new, rules_free, rules_read_file, rules_add_default and rules_seal. */

/* Add the rules in a text; `name` is used in messages. Otherwise like rules_read_file. */
int rules_read_text(struct rules *rules, const char *name, const char *text, size_t bytes,
                    char *err, size_t room);

/* ---- queries --------------------------------------------------------------------------------- */

/* Names of a function in a stack that rules are compared with; texts of patterns.h, 0 = unknown. */
enum spot_text {
    SPOT_SYSTEM,    /* the linker's name */
    SPOT_ALIAS,     /* the same without version, and without a library's leading underscores */
    SPOT_DECLARED,  /* declared name of an inlined function, which valgrind uses */
    SPOT_LOCAL,     /* source name of a function with internal linkage, which LeakSanitizer uses */
    SPOT_SIMPLE,    /* without namespaces, templates and parameters */
    SPOT_FULL,      /* as in the source */
    SPOT_QUALIFIED, /* SPOT_FULL without parameters */
    SPOT_FILE,
    SPOT_FILE_BASE,
    SPOT_OBJECT,
    SPOT_OBJECT_BASE,
    SPOT_TEXTS
};

/* One function in a stack. A frame has several if functions were inlined. */
struct spot {
    uint32_t text[SPOT_TEXTS];
    uint32_t line;
    /* alternatives to SPOT_SYSTEM: an entry may be one of several functions */
    const uint32_t *names;
    uint32_t name_count;
};

struct subject {
    uint32_t code; /* a single bit */
    uint32_t leak_kind;
    uint64_t address; /* start of the block or address, which extends for bytes_there bytes */
    uint64_t bytes_there;
    const char *program; /* NULL: several programs */
    /* innermost first; begins with the entries: malloc, free, .. */
    const struct spot *const *spots;
    uint32_t spot_count;
    uint32_t entry_count; /* number of entries; a stack may begin with any of them */
    uint32_t place_count; /* number of functions of the innermost frame, after the entries */
    bool is_cut;          /* the stack was deeper than recorded */
    bool is_stripped;     /* see SCOPE_STRIPPED */
    uint64_t hits;
    uint64_t bytes;
};

#define NO_RULE UINT32_MAX

/*
 * Might a rule match findings of this code and kind? And one that compares names of their stacks?
 */
bool rules_apply_to(const struct rules *rules, uint32_t code, uint32_t leak_kind);
bool rules_need_names(const struct rules *rules, uint32_t code, uint32_t leak_kind);
/* The rule that decides about a finding; NO_RULE: none. Has no effect on later queries. */
uint32_t rules_find(struct rules *rules, const struct subject *finding);
/* The same, and count the hits, so that the rule's max may be reached. */
uint32_t rules_decide(struct rules *rules, const struct subject *finding);

#endif
