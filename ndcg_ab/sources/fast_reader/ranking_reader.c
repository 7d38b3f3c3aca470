/* One pass over whole queries of plain TREC text: what is kept of them, or None where anything needs a second look.

The rules are those of `ndcg_ab/sources/tables/top_places.py` and of the careful reader (`sources/files/records.py`):
what is accepted here is read there to the same values, without a remark.  Nothing is said of what is refused.

The text is hostile.  Nothing is read beyond its length, whatever is in it: the last byte must be a line feed, every
field ends at a byte that was found inside, and the last block is looked at in a copy.  Time grows with the length
alone: a table of documents whose keys were made to collide is given up.  tests/sanitizing.c includes this file and
breaks texts under the address sanitizer (`make fuzz`).
*/

#ifndef STANDALONE
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#endif
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if !defined(PORTABLE) && (defined(__SSE2__) || defined(_M_X64))
#include <emmintrin.h>
#define HAS_SSE2
#endif
#ifdef _MSC_VER
#include <intrin.h>
#endif

#define BLOCK 64            /* bytes that are looked at together */
#define FIRST_SIGN 33       /* bytes below it are white space or control characters */
#define LONGEST_FIELD 512   /* bytes */
#define MOST_PROBES 512     /* places at which a document is looked for */
#define RANK_DIGITS 11      /* LARGEST_RANK has one more, so that no sum of ranks and rows reaches it */
#define LARGEST_SCORE 1e38
#define TIE_MARGIN 2e-6     /* NEAR in top_places.py */
#define EXACT_DIGITS 19     /* that a whole number of 64 bits holds */
#define EXACT_WHOLE (UINT64_C(1) << 53)
#define EXACT_POWER 22      /* of ten, in a double */
#define SPREAD UINT64_C(0x9E3779B97F4A7C15)

static const double POWERS[EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* ---- bytes that grow */

typedef struct {
    char *start;
    size_t used, room;
} Bytes;

static int append(Bytes *bytes, const void *content, size_t size) {
    if (bytes->room - bytes->used < size) {
        size_t room = 2 * (bytes->used + size) + 4096;
        char *moved = realloc(bytes->start, room);
        if (!moved)
            return 0;
        bytes->start = moved;
        bytes->room = room;
    }
    memcpy(bytes->start + bytes->used, content, size);
    bytes->used += size;
    return 1;
}

static int append_double(Bytes *bytes, double value) { return append(bytes, &value, sizeof value); }

static int append_whole(Bytes *bytes, int64_t value) { return append(bytes, &value, sizeof value); }

static int append_offset(Bytes *bytes, size_t value) {
    int32_t offset = (int32_t)value;
    return append(bytes, &offset, sizeof offset);
}

/* ---- where fields end: the bytes below FIRST_SIGN, one after the other */

typedef struct {
    const uint8_t *text;
    size_t length, block;
    uint64_t left; /* a bit for each such byte of the block that was not told yet */
    int is_ascii;
} Scan;

static uint64_t ends_in_block(const uint8_t *at, int *is_ascii) {
    uint64_t found = 0;
#ifdef HAS_SSE2
    const __m128i least = _mm_set1_epi8(FIRST_SIGN - 1), zero = _mm_setzero_si128();
    int high = 0;
    for (int part = 0; part < BLOCK / 16; part++) {
        __m128i signs = _mm_loadu_si128((const __m128i *)(at + 16 * part));
        high |= _mm_movemask_epi8(signs);
        found |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_subs_epu8(signs, least), zero)) << 16 * part;
    }
    *is_ascii &= !high;
#else
    uint8_t high = 0;
    for (int place = 0; place < BLOCK; place++) {
        high |= at[place];
        found |= (uint64_t)(at[place] < FIRST_SIGN) << place;
    }
    *is_ascii &= high < 128;
#endif
    return found;
}

static void look_at_block(Scan *scan) {
    uint8_t last[BLOCK];
    size_t size = scan->length - scan->block;
    if (size >= BLOCK) {
        scan->left = ends_in_block(scan->text + scan->block, &scan->is_ascii);
        return;
    }
    memset(last, 'x', BLOCK);
    memcpy(last, scan->text + scan->block, size);
    scan->left = ends_in_block(last, &scan->is_ascii);
}

static int lowest_bit(uint64_t bits) {
#ifdef _MSC_VER
    unsigned long place;
    _BitScanForward64(&place, bits);
    return (int)place;
#else
    return __builtin_ctzll(bits);
#endif
}

/* The place of the next one; `length` where there is none. */
static inline size_t next_end(Scan *scan) {
    while (!scan->left) {
        if (scan->length - scan->block <= BLOCK)
            return scan->length;
        scan->block += BLOCK;
        look_at_block(scan);
    }
    size_t found = scan->block + lowest_bit(scan->left);
    scan->left &= scan->left - 1;
    return found;
}

/* ---- ids that were met: an open table, of which a new generation begins with every query, and nothing is cleared */

typedef struct {
    uint32_t generation, key, at, size;
} Entry;

typedef struct {
    Entry *entries;
    size_t mask, count; /* count: of this generation */
    uint32_t generation;
} Table;

static int make_table(Table *table, size_t room) {
    table->entries = calloc(room, sizeof(Entry));
    table->mask = room - 1;
    table->count = 0;
    table->generation = 1;
    return table->entries != NULL;
}

static uint64_t spread(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * SPREAD;
    return hash ^ hash >> 32;
}

static uint64_t eight_bytes(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, 8);
    return word;
}

static uint64_t four_bytes(const uint8_t *at) {
    uint32_t word;
    memcpy(&word, at, 4);
    return word;
}

/* Of all bytes of an id, and of none beside it. */
static uint64_t hash_of(const uint8_t *at, size_t size) {
    uint64_t hash = size;
    if (size < 4)
        return spread(hash, (uint64_t)at[0] << 16 | (uint64_t)at[size / 2] << 8 | at[size - 1]);
    if (size < 8)
        return spread(hash, four_bytes(at) << 32 | four_bytes(at + size - 4));
    for (size_t done = 0; done + 8 < size; done += 8)
        hash = spread(hash, eight_bytes(at + done));
    return spread(hash, eight_bytes(at + size - 8));
}

static int grow(Table *table) {
    Table larger;
    if (!make_table(&larger, 2 * (table->mask + 1)))
        return 0;
    larger.generation = table->generation;
    larger.count = table->count;
    for (size_t from = 0; from <= table->mask; from++) {
        const Entry *entry = &table->entries[from];
        if (entry->generation != table->generation)
            continue;
        size_t to = entry->key & larger.mask;
        while (larger.entries[to].generation == larger.generation)
            to = (to + 1) & larger.mask;
        larger.entries[to] = *entry;
    }
    free(table->entries);
    *table = larger;
    return 1;
}

typedef enum { NEW, MET, GIVEN_UP } Met;

/* Whether an id is in the table; `texts` is where those that are in it stand.  add: puts a new one into it. */
static inline Met look_up(Table *table, const uint8_t *texts, const uint8_t *id, size_t size, int add) {
    uint32_t key = (uint32_t)hash_of(id, size);
    size_t place = key & table->mask;
    for (int probes = 0; table->entries[place].generation == table->generation; probes++) {
        const Entry *entry = &table->entries[place];
        if (entry->key == key && entry->size == size && !memcmp(texts + entry->at, id, size))
            return MET;
        if (probes == MOST_PROBES)
            return GIVEN_UP;
        place = (place + 1) & table->mask;
    }
    if (!add)
        return NEW;
    table->entries[place] = (Entry){table->generation, key, (uint32_t)(id - texts), (uint32_t)size};
    table->count++;
    return 2 * table->count > table->mask && !grow(table) ? GIVEN_UP : NEW;
}

/* ---- numbers */

static inline int is_digit(uint8_t sign) { return (uint8_t)(sign - '0') < 10; }

static inline int read_rank(const uint8_t *at, const uint8_t *end, int64_t *rank) {
    int64_t whole = 0;
    int is_negative = *at == '-';
    at += is_negative;
    if (at == end || end - at > RANK_DIGITS)
        return 0;
    for (; at < end; at++) {
        if (!is_digit(*at))
            return 0;
        whole = 10 * whole + (*at - '0');
    }
    *rank = is_negative ? -whole : whole;
    return 1;
}

/* A decimal number as it is meant: exact in one division where the digits are few, else by the library.  The byte at
the end is a delimiter of the text, which ends the number for the library, too. */
static inline int read_score(const uint8_t *at, const uint8_t *end, double *score) {
    const uint8_t *start = at;
    uint64_t whole = 0;
    int is_negative = *at == '-';
    at += *at == '-' || *at == '+';
    const uint8_t *digits = at;
    for (; at < end && is_digit(*at); at++)
        whole = 10 * whole + (*at - '0');
    ptrdiff_t count = at - digits, decimals = 0;
    if (at < end && *at == '.') {
        digits = ++at;
        for (; at < end && is_digit(*at); at++)
            whole = 10 * whole + (*at - '0');
        decimals = at - digits;
        count += decimals;
    }
    if (!count)
        return 0;
    if (at == end && count <= EXACT_DIGITS && whole <= EXACT_WHOLE && FLT_EVAL_METHOD == 0) {
        double value = (double)whole / POWERS[decimals];
        *score = is_negative ? -value : value;
        return 1;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '-' || *at == '+'))
            at++;
        for (digits = at; at < end && is_digit(*at);)
            at++;
        if (at == digits)
            return 0;
    }
    char *stop;
    *score = strtod((const char *)start, &stop);
    return at == end && (const uint8_t *)stop == end;
}

/* ---- UTF-8, as Python has it: nothing overlong, no surrogates, none above U+10FFFF */

static int is_utf8(const uint8_t *text, size_t length) {
    size_t at = 0;
    while (at < length) {
        uint8_t lead = text[at];
        if (lead < 0x80) {
            at++;
            continue;
        }
        size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
        if (lead < 0xC2 || lead > 0xF4 || length - at <= more)
            return 0;
        uint8_t second = text[at + 1];
        uint8_t least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
        uint8_t most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        if (second < least || second > most)
            return 0;
        for (size_t place = 2; place <= more; place++)
            if ((text[at + place] & 0xC0) != 0x80)
                return 0;
        at += more + 1;
    }
    return 1;
}

/* ---- the pass */

typedef struct {
    const uint8_t *text, *line_end, *whole; /* line_end: delimiter, tag, line feed.  whole: ids, a line feed after each */
    size_t length, line_end_size, whole_size;
    int64_t depth;
} Asked;

enum { HEAD_ENDS, HEADS, LENGTHS, GIVEN, KEPT, FIRST_RANKS, HIGHEST, LOWEST, DOC_ENDS, DOCS, SCORES, RANKS, PARTS };

typedef struct {
    size_t start, size; /* its id */
    int64_t length, kept, given, first_rank;
    double highest, lowest, tied, near; /* tied, near: the score of the last place, and how far down one ties with it */
    int is_whole, is_over;              /* is_over: no further row ties */
} Query;

static int end_query(const Query *query, const uint8_t *text, Bytes *parts) {
    return append(&parts[HEADS], text + query->start, query->size) &&
           append_offset(&parts[HEAD_ENDS], parts[HEADS].used) && append_whole(&parts[LENGTHS], query->length) &&
           append_whole(&parts[GIVEN], query->given) && append_whole(&parts[KEPT], query->kept) &&
           append_whole(&parts[FIRST_RANKS], query->first_rank) && append_double(&parts[HIGHEST], query->highest) &&
           append_double(&parts[LOWEST], query->lowest);
}

static int begins_a_remark(const uint8_t *id, size_t size) {
    return *id == '#' || (size >= 3 && !memcmp(id, "\xEF\xBB\xBF", 3)); /* a comment, a byte order mark */
}

/* Whether a row is one that a comparison looks at; the scores never rise. */
static inline int is_kept(Query *query, double score, int64_t depth) {
    if (query->length <= depth) {
        if (query->length == depth) {
            volatile double margin = TIE_MARGIN * fabs(score); /* rounded, whatever the machine can do in one step */
            query->tied = score;
            query->near = score - margin;
        }
        return 1;
    }
    query->is_over = query->is_over || !(score >= query->near || (float)score == (float)query->tied);
    return !query->is_over;
}

static int read_into(const Asked *asked, Table *met, Table *whole, Bytes *parts) {
    const uint8_t *text = asked->text;
    const uint8_t delimiter = asked->line_end[0];
    Query query = {0};
    size_t start = 0;
    Scan scan = {text, asked->length, 0, 0, 1};
    look_at_block(&scan);
    if (!append_offset(&parts[HEAD_ENDS], 0) || !append_offset(&parts[DOC_ENDS], 0))
        return 0;
    while (start < asked->length) {
        size_t begin[6], end[6];
        for (int field = 0; field < 5; field++) {
            begin[field] = start;
            end[field] = next_end(&scan);
            if (end[field] == start || end[field] - start > LONGEST_FIELD || end[field] >= asked->length ||
                text[end[field]] != delimiter)
                return 0;
            start = end[field] + 1;
        }
        size_t last = next_end(&scan);
        if (last >= asked->length || last + 1 - end[4] != asked->line_end_size ||
            memcmp(text + end[4], asked->line_end, asked->line_end_size))
            return 0;
        start = last + 1;

        int64_t rank;
        double score;
        if (!read_rank(text + begin[3], text + end[3], &rank) || !read_score(text + begin[4], text + end[4], &score) ||
            !(fabs(score) <= LARGEST_SCORE))
            return 0;
        size_t size = end[0] - begin[0];
        if (size != query.size || memcmp(text + begin[0], text + query.start, size)) {
            const uint8_t *id = text + begin[0];
            if (begins_a_remark(id, size) || (query.size && !end_query(&query, text, parts)))
                return 0;
            Met is_whole = look_up(whole, asked->whole, id, size, 0);
            if (is_whole == GIVEN_UP)
                return 0;
            query = (Query){.start = begin[0], .size = size, .first_rank = rank, .highest = score};
            query.lowest = score;
            query.is_whole = is_whole == MET;
            met->generation++;
            met->count = 0;
        }
        if (!(score <= query.lowest) || rank != query.first_rank + query.length)
            return 0;
        size_t doc_size = end[2] - begin[2];
        if (look_up(met, text, text + begin[2], doc_size, 1) != NEW)
            return 0;
        query.lowest = score;
        query.length++;
        int kept = is_kept(&query, score, asked->depth);
        query.kept += kept;
        if (!kept && !query.is_whole)
            continue;
        query.given++;
        if (!append(&parts[DOCS], text + begin[2], doc_size) || !append_offset(&parts[DOC_ENDS], parts[DOCS].used) ||
            !append_double(&parts[SCORES], score) || !append_whole(&parts[RANKS], rank))
            return 0;
    }
    return end_query(&query, text, parts) && (scan.is_ascii || is_utf8(text, asked->length));
}

static int fill_whole(const Asked *asked, Table *whole) {
    const uint8_t *at = asked->whole, *end = at + asked->whole_size;
    while (at < end) {
        const uint8_t *stop = memchr(at, '\n', end - at);
        if (!stop)
            return 0;
        if (stop > at && look_up(whole, asked->whole, at, stop - at, 1) == GIVEN_UP)
            return 0;
        at = stop + 1;
    }
    return 1;
}

/* Whether the text is plain; the parts are to be freed either way. */
static int read_plain(const Asked *asked, Bytes *parts) {
    Table met = {0}, whole = {0};
    int is_plain = asked->length && asked->length <= INT32_MAX && asked->whole_size <= INT32_MAX &&
                   asked->text[asked->length - 1] == '\n' && asked->line_end_size >= 3 && asked->depth > 0 &&
                   strtod("0.5 ", NULL) == 0.5 && /* no other decimal sign was set for the process */
                   make_table(&met, 2048) && make_table(&whole, 256) && fill_whole(asked, &whole) &&
                   read_into(asked, &met, &whole, parts);
    free(met.entries);
    free(whole.entries);
    return is_plain;
}

#ifndef STANDALONE

/* ---- for Python */

static PyObject *reduce(PyObject *self, PyObject *arguments) {
    Py_buffer text, line_end, whole;
    Py_ssize_t length;
    long long depth;
    Asked asked;
    Bytes parts[PARTS] = {{0}};
    int is_plain;
    PyObject *found = NULL;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "y*ny*Ly*:reduce", &text, &length, &line_end, &depth, &whole))
        return NULL;
    if (length < 0 || length > text.len) {
        PyErr_SetString(PyExc_ValueError, "length must be within the text");
    } else {
        asked = (Asked){text.buf, line_end.buf, whole.buf, (size_t)length, (size_t)line_end.len, (size_t)whole.len, depth};
        Py_BEGIN_ALLOW_THREADS
        is_plain = read_plain(&asked, parts);
        Py_END_ALLOW_THREADS
        found = is_plain ? PyTuple_New(PARTS) : Py_NewRef(Py_None);
        for (Py_ssize_t part = 0; found && is_plain && part < PARTS; part++) {
            PyObject *content = PyBytes_FromStringAndSize(parts[part].start, (Py_ssize_t)parts[part].used);
            if (!content || PyTuple_SetItem(found, part, content)) {
                Py_DECREF(found);
                found = NULL;
            }
        }
    }
    for (int part = 0; part < PARTS; part++)
        free(parts[part].start);
    PyBuffer_Release(&text);
    PyBuffer_Release(&line_end);
    PyBuffer_Release(&whole);
    return found;
}

static PyMethodDef METHODS[] = {
    {"reduce", reduce, METH_VARARGS, "What is kept of whole queries, as buffers; None where they are not plain."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "ranking_reader",
    .m_doc = "One pass over plain TREC text.",
    .m_size = 0,
    .m_methods = METHODS,
};

PyMODINIT_FUNC PyInit_ranking_reader(void) { return PyModuleDef_Init(&MODULE); }

#endif
