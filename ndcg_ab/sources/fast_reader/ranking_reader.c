/* One pass over whole queries of plain TREC text, or of columns: what is kept of them, or None where anything needs a
second look.

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
#define MOST_RANK INT64_C(99999999999)
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

/* ---- the pass, row by row */

enum { HEAD_ENDS, HEADS, LENGTHS, GIVEN, KEPT, FIRST_RANKS, HIGHEST, LOWEST, DOC_ENDS, DOCS, SCORES, RANKS, PARTS };

typedef struct {
    const uint8_t *id;
    size_t size;
    int64_t length, kept, given, first_rank;
    double highest, lowest, tied, near; /* tied, near: the score of the last place, and how far down one ties with it */
    int is_whole, is_over;              /* is_over: no further row ties */
} Query;

typedef struct {
    const uint8_t *whole; /* ids of the queries of which all is given, a line feed after each */
    size_t whole_size;
    int64_t depth;
} Wanted;

typedef struct {
    Wanted wanted;
    const uint8_t *docs; /* where the ids of all documents stand */
    int has_ranks;
    Table met, whole;
    Query query;
    Bytes *parts;
} Pass;

typedef struct {
    const uint8_t *at;
    size_t size;
} Id;

static int end_query(const Query *query, Bytes *parts) {
    return append(&parts[HEADS], query->id, query->size) && append_offset(&parts[HEAD_ENDS], parts[HEADS].used) &&
           append_whole(&parts[LENGTHS], query->length) && append_whole(&parts[GIVEN], query->given) &&
           append_whole(&parts[KEPT], query->kept) && append_whole(&parts[FIRST_RANKS], query->first_rank) &&
           append_double(&parts[HIGHEST], query->highest) && append_double(&parts[LOWEST], query->lowest);
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

/* A row after those before it; 0 where it is not plain.  Its ids stay where they are. */
static inline int take_row(Pass *pass, Id id, Id doc, double score, int64_t rank) {
    Query *query = &pass->query;
    Bytes *parts = pass->parts;
    if (!(fabs(score) <= LARGEST_SCORE))
        return 0;
    if (id.size != query->size || memcmp(id.at, query->id, id.size)) {
        if ((query->size && !end_query(query, parts)) || rank > MOST_RANK || rank < -MOST_RANK)
            return 0;
        Met is_whole = look_up(&pass->whole, pass->wanted.whole, id.at, id.size, 0);
        if (is_whole == GIVEN_UP)
            return 0;
        *query = (Query){.id = id.at, .size = id.size, .first_rank = rank, .highest = score, .lowest = score};
        query->is_whole = is_whole == MET;
        pass->met.generation++;
        pass->met.count = 0;
    }
    if (!(score <= query->lowest) || (pass->has_ranks && rank != query->first_rank + query->length) ||
        look_up(&pass->met, pass->docs, doc.at, doc.size, 1) != NEW)
        return 0;
    query->lowest = score;
    query->length++;
    int kept = is_kept(query, score, pass->wanted.depth);
    query->kept += kept;
    if (!kept && !query->is_whole)
        return 1;
    query->given++;
    return append(&parts[DOCS], doc.at, doc.size) && append_offset(&parts[DOC_ENDS], parts[DOCS].used) &&
           append_double(&parts[SCORES], score) && append_whole(&parts[RANKS], rank);
}

static int fill_whole(const Wanted *wanted, Table *whole) {
    const uint8_t *at = wanted->whole, *end = at + wanted->whole_size;
    while (at < end) {
        const uint8_t *stop = memchr(at, '\n', end - at);
        if (!stop)
            return 0;
        if (stop > at && look_up(whole, wanted->whole, at, stop - at, 1) == GIVEN_UP)
            return 0;
        at = stop + 1;
    }
    return 1;
}

static int begin_pass(Pass *pass) {
    return pass->wanted.whole_size <= INT32_MAX && pass->wanted.depth > 0 && make_table(&pass->met, 2048) &&
           make_table(&pass->whole, 256) && fill_whole(&pass->wanted, &pass->whole) &&
           append_offset(&pass->parts[HEAD_ENDS], 0) && append_offset(&pass->parts[DOC_ENDS], 0);
}

/* Frees what the pass alone needed; the parts are to be freed either way. */
static int end_pass(Pass *pass, int is_plain) {
    is_plain = is_plain && pass->query.size && end_query(&pass->query, pass->parts);
    free(pass->met.entries);
    free(pass->whole.entries);
    return is_plain;
}

/* ---- rows of text */

typedef struct {
    const uint8_t *text, *line_end; /* line_end: delimiter, tag, line feed */
    size_t length, line_end_size;
} Text;

static int begins_a_remark(Id id) {
    return *id.at == '#' || (id.size >= 3 && !memcmp(id.at, "\xEF\xBB\xBF", 3)); /* a comment, a byte order mark */
}

static int read_lines(const Text *given, Pass *pass) {
    const uint8_t *text = given->text;
    const uint8_t delimiter = given->line_end[0];
    size_t start = 0;
    Scan scan = {text, given->length, 0, 0, 1};
    look_at_block(&scan);
    while (start < given->length) {
        size_t begin[6], end[6];
        for (int field = 0; field < 5; field++) {
            begin[field] = start;
            end[field] = next_end(&scan);
            if (end[field] == start || end[field] - start > LONGEST_FIELD || end[field] >= given->length ||
                text[end[field]] != delimiter)
                return 0;
            start = end[field] + 1;
        }
        size_t last = next_end(&scan);
        if (last >= given->length || last + 1 - end[4] != given->line_end_size ||
            memcmp(text + end[4], given->line_end, given->line_end_size))
            return 0;
        start = last + 1;

        int64_t rank;
        double score;
        Id id = {text + begin[0], end[0] - begin[0]}, doc = {text + begin[2], end[2] - begin[2]};
        if (!read_rank(text + begin[3], text + end[3], &rank) || !read_score(text + begin[4], text + end[4], &score) ||
            begins_a_remark(id) || !take_row(pass, id, doc, score, rank))
            return 0;
    }
    return scan.is_ascii || is_utf8(text, given->length);
}

/* Whether the text is plain; the parts are to be freed either way. */
static int read_text(const Text *text, Wanted wanted, Bytes *parts) {
    Pass pass = {.wanted = wanted, .docs = text->text, .has_ranks = 1, .parts = parts};
    int is_plain = text->length && text->length <= INT32_MAX && text->text[text->length - 1] == '\n' &&
                   text->line_end_size >= 3 && strtod("0.5 ", NULL) == 0.5 && /* no other decimal sign was set */
                   begin_pass(&pass) && read_lines(text, &pass);
    return end_pass(&pass, is_plain);
}

/* ---- rows of columns */

typedef struct {
    const uint8_t *text;
    const int32_t *ends; /* where each text begins, and the last one ends */
    size_t size;         /* of the text */
    int is_ascii;
} Texts;

typedef struct {
    Texts ids, docs;
    const double *scores;
    const int64_t *ranks; /* NULL: there are none */
    size_t count;
} Columns;

/* No control characters; white space other than they is allowed in a column. */
static int is_clean(Texts *texts) {
    Scan scan = {texts->text, texts->size, 0, 0, 1};
    look_at_block(&scan);
    for (size_t at; (at = next_end(&scan)) < texts->size;)
        if (texts->text[at] < ' ')
            return 0;
    texts->is_ascii = scan.is_ascii;
    return 1;
}

static inline int text_at(const Texts *texts, size_t row, Id *found) {
    int32_t start = texts->ends[row], end = texts->ends[row + 1];
    if (start < 0 || end <= start || end - start > LONGEST_FIELD || (size_t)end > texts->size)
        return 0;
    *found = (Id){texts->text + start, (size_t)(end - start)};
    return texts->is_ascii || is_utf8(found->at, found->size);
}

/* Whether the columns are plain; the parts are to be freed either way. */
static int read_columns(Columns columns, Wanted wanted, Bytes *parts) {
    Pass pass = {.wanted = wanted, .docs = columns.docs.text, .has_ranks = columns.ranks != NULL, .parts = parts};
    int is_plain = is_clean(&columns.ids) && is_clean(&columns.docs) && begin_pass(&pass);
    for (size_t row = 0; is_plain && row < columns.count; row++) {
        Id id, doc;
        is_plain = text_at(&columns.ids, row, &id) && text_at(&columns.docs, row, &doc) &&
                   take_row(&pass, id, doc, columns.scores[row], columns.ranks ? columns.ranks[row] : 0);
    }
    return end_pass(&pass, is_plain);
}

#ifndef STANDALONE

/* ---- for Python */

/* What was found as a tuple of bytes, or None; the parts are freed. */
static PyObject *give(int is_plain, Bytes *parts) {
    PyObject *found = is_plain ? PyTuple_New(PARTS) : Py_NewRef(Py_None);
    for (Py_ssize_t part = 0; found && is_plain && part < PARTS; part++) {
        PyObject *content = PyBytes_FromStringAndSize(parts[part].start, (Py_ssize_t)parts[part].used);
        if (!content || PyTuple_SetItem(found, part, content)) {
            Py_DECREF(found);
            found = NULL;
        }
    }
    for (int part = 0; part < PARTS; part++)
        free(parts[part].start);
    return found;
}

static PyObject *reduce(PyObject *self, PyObject *arguments) {
    Py_buffer text, line_end, whole;
    Py_ssize_t length;
    long long depth;
    Bytes parts[PARTS] = {{0}};
    PyObject *found = NULL;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "y*ny*Ly*:reduce", &text, &length, &line_end, &depth, &whole))
        return NULL;
    if (length < 0 || length > text.len) {
        PyErr_SetString(PyExc_ValueError, "length must be within the text");
    } else {
        Text given = {text.buf, line_end.buf, (size_t)length, (size_t)line_end.len};
        Wanted wanted = {whole.buf, (size_t)whole.len, depth};
        int is_plain;
        Py_BEGIN_ALLOW_THREADS
        is_plain = read_text(&given, wanted, parts);
        Py_END_ALLOW_THREADS
        found = give(is_plain, parts);
    }
    PyBuffer_Release(&text);
    PyBuffer_Release(&line_end);
    PyBuffer_Release(&whole);
    return found;
}

enum { ID_ENDS, IDS, DOCUMENT_ENDS, DOCUMENTS, SCORE, RANK, WHOLE, BUFFERS };

static PyObject *reduce_columns(PyObject *self, PyObject *arguments) {
    Py_buffer in[BUFFERS];
    long long depth;
    Bytes parts[PARTS] = {{0}};
    PyObject *found = NULL;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*z*Ly*:reduce_columns", &in[ID_ENDS], &in[IDS], &in[DOCUMENT_ENDS],
                          &in[DOCUMENTS], &in[SCORE], &in[RANK], &depth, &in[WHOLE]))
        return NULL;
    size_t count = (size_t)in[SCORE].len / 8;
    if ((size_t)in[ID_ENDS].len / 4 != count + 1 || (size_t)in[DOCUMENT_ENDS].len / 4 != count + 1 ||
        (in[RANK].buf && (size_t)in[RANK].len / 8 != count)) {
        PyErr_SetString(PyExc_ValueError, "columns must have as many values as there are scores");
    } else {
        Columns columns = {{in[IDS].buf, in[ID_ENDS].buf, (size_t)in[IDS].len, 0},
                           {in[DOCUMENTS].buf, in[DOCUMENT_ENDS].buf, (size_t)in[DOCUMENTS].len, 0},
                           in[SCORE].buf, in[RANK].buf, count};
        Wanted wanted = {in[WHOLE].buf, (size_t)in[WHOLE].len, depth};
        int is_plain;
        Py_BEGIN_ALLOW_THREADS
        is_plain = read_columns(columns, wanted, parts);
        Py_END_ALLOW_THREADS
        found = give(is_plain, parts);
    }
    for (int each = 0; each < BUFFERS; each++)
        PyBuffer_Release(&in[each]);
    return found;
}

static PyMethodDef METHODS[] = {
    {"reduce", reduce, METH_VARARGS, "What is kept of whole queries, as buffers; None where they are not plain."},
    {"reduce_columns", reduce_columns, METH_VARARGS, "The same of columns of texts, scores and ranks."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "ranking_reader",
    .m_doc = "One pass over plain rankings.",
    .m_size = 0,
    .m_methods = METHODS,
};

PyMODINIT_FUNC PyInit_ranking_reader(void) { return PyModuleDef_Init(&MODULE); }

#endif
