/* Broken rankings through the compiled reader, in memory that ends where the text ends: python -m tests.sanitizing.

    sanitizing SEED SECONDS

Rankings are made, most of them broken at up to eight places, and read as text; and as columns, whose numbers are broken
as well.  The sanitizers end the program where a byte beyond them is looked at.  What is found in a plain one must fit
together.
*/

#define STANDALONE
#include "../ndcg_ab/sources/fast_reader/ranking_reader.c"

#include <stdio.h>
#include <time.h>

#define ROOM 65536

static uint64_t state;

static uint64_t below(uint64_t most) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % most;
}

static const char *const VALUES[] = {
    "", " ", "\t", "\n", "\r", "\r\n", "\v", "#", "-", "+", ".", "e", "1e", "1e-", "1e5", "1e999", "-1e999", "1e-999",
    "nan", "inf", "-Infinity", "0x1F", "9007199254740993", "9223372036854775808", "99999999999999999999", "-0", "00",
    "5.", ".5", "+3", "1_0", "1,5", "0.30000000000000004", "1e38", "1.0000000000000000000000000000000000000000001",
    "\xEF\xBB\xBF", "\xC3", "\xE2\x82", "\xF0\x9F\x99\x82", "\xED\xA0\x80", "\xFF", "\x7F", "q0", "d1", "t", " t\n",
    "q1 Q0 d1 1 0.5 t\n",
};

static size_t make_ranking(char *text) {
    size_t length = 0;
    int depth = below(4) ? 12 : 400, long_ids = !below(8), decimals = (int)below(18), first = (int)below(4) - 1;
    for (int query = 0, queries = 1 + (int)below(6); query < queries; query++) {
        double score = (double)below(4000) / 7 - 100;
        for (int place = 0, places = 1 + (int)below(depth); place < places && length < ROOM / 2; place++) {
            length += sprintf(text + length, "q%d Q0 ", query);
            for (int more = long_ids ? (int)below(30) : 0; more; more--)
                text[length++] = 'x';
            length += sprintf(text + length, "d%d %d %.*f t\n", place, first + place, decimals, score);
            score -= below(3) ? (double)below(1000) / 3 : 0;
        }
    }
    return length;
}

static size_t put(char *text, size_t length, size_t at, size_t taken, const char *value, size_t size) {
    if (length - taken + size > ROOM)
        return length;
    memmove(text + at + size, text + at + taken, length - at - taken);
    memcpy(text + at, value, size);
    return length - taken + size;
}

static size_t mutate(char *text, size_t length) {
    static char long_field[3000];
    memset(long_field, '9', sizeof long_field);
    for (int changes = (int)below(8) + 1; changes && length; changes--) {
        size_t at = below(length), taken = 0;
        char sign = (char)below(256);
        const char *value = VALUES[below(sizeof VALUES / sizeof *VALUES)];
        switch (below(8)) {
        case 0: /* cut short */
            length = at;
            break;
        case 1: /* any byte */
            text[at] = sign;
            break;
        case 2: /* a byte more, or less */
            length = put(text, length, at, below(2), &sign, below(2));
            break;
        case 3: /* a long field */
            length = put(text, length, at, 0, long_field, below(sizeof long_field));
            break;
        case 4: /* a line again, or elsewhere */
            for (; at && text[at - 1] != '\n'; at--)
                ;
            for (; at + taken < length && text[at + taken] != '\n'; taken++)
                ;
            if (taken < sizeof long_field) {
                memcpy(long_field, text + at, taken);
                length = put(text, length, at, 0, long_field, taken);
                memset(long_field, '9', sizeof long_field);
            }
            break;
        default: /* a value in the place of a field, or inside of it */
            if (below(2)) {
                for (; at && (uint8_t)text[at - 1] >= FIRST_SIGN; at--)
                    ;
                for (; at + taken < length && (uint8_t)text[at + taken] >= FIRST_SIGN; taken++)
                    ;
            }
            length = put(text, length, at, taken, value, strlen(value));
        }
    }
    return length;
}

static void expect(int holds, const char *what) {
    if (!holds) {
        printf("does not hold: %s\n", what);
        exit(1);
    }
}

static void check_parts(const Bytes *parts, size_t length) {
    size_t queries = parts[LENGTHS].used / 8, rows = parts[SCORES].used / 8;
    const int32_t *heads = (const int32_t *)parts[HEAD_ENDS].start, *docs = (const int32_t *)parts[DOC_ENDS].start;
    const int64_t *given = (const int64_t *)parts[GIVEN].start, *kept = (const int64_t *)parts[KEPT].start;
    const int64_t *lengths = (const int64_t *)parts[LENGTHS].start;
    int64_t sum = 0;
    expect(queries && parts[HEAD_ENDS].used == 4 * (queries + 1), "an id for each query");
    expect(parts[DOC_ENDS].used == 4 * (rows + 1) && parts[RANKS].used == 8 * rows, "as many ids, scores and ranks");
    expect(!heads[0] && !docs[0] && (size_t)heads[queries] == parts[HEADS].used, "ids of queries end with the last");
    expect((size_t)docs[rows] == parts[DOCS].used && parts[DOCS].used < length, "ids of documents end with the last");
    for (size_t row = 0; row < rows; row++)
        expect(docs[row] < docs[row + 1], "no document without an id");
    for (size_t query = 0; query < queries; query++) {
        expect(heads[query] < heads[query + 1], "no query without an id");
        expect(kept[query] && kept[query] <= given[query] && given[query] <= lengths[query], "kept, given, there");
        sum += given[query];
    }
    expect((size_t)sum == rows, "rows of the queries");
}

/* Fields of the lines as columns, in memory that ends where they end. */
static int read_as_columns(const char *text, size_t length, Wanted wanted, Bytes *parts) {
    Bytes texts[2] = {{0}}, ends[2] = {{0}}, scores = {0}, ranks = {0};
    size_t count = 0;
    double score = 1000;
    for (size_t at = 0; at < length && count < 4000; count++) {
        for (int field = 0; field < 3; field++) {
            size_t start = at;
            for (; at < length && (uint8_t)text[at] >= FIRST_SIGN; at++)
                ;
            if (field != 1) {
                append_offset(&ends[field / 2], texts[field / 2].used);
                if (at > start)
                    append(&texts[field / 2], text + start, at - start);
            }
            at += at < length;
        }
        for (; at < length && text[at - 1] != '\n'; at++)
            ;
        append_double(&scores, below(200) ? (score -= below(2)) : (double)below(1000) - INFINITY * !below(8));
        append_whole(&ranks, below(200) ? (int64_t)count : (int64_t)below(UINT64_MAX));
    }
    for (int column = 0; column < 2; column++) {
        append_offset(&ends[column], texts[column].used);
        if (!below(10))
            ((int32_t *)ends[column].start)[below(count + 1)] = (int32_t)below(UINT64_MAX);
        texts[column].start = realloc(texts[column].start, texts[column].used + !texts[column].used);
        ends[column].start = realloc(ends[column].start, ends[column].used);
    }
    Columns columns = {{(uint8_t *)texts[0].start, (int32_t *)ends[0].start, texts[0].used, 0},
                       {(uint8_t *)texts[1].start, (int32_t *)ends[1].start, texts[1].used, 0},
                       (double *)scores.start, below(4) ? NULL : (int64_t *)ranks.start, count};
    int is_plain = read_columns(columns, wanted, parts);
    for (int column = 0; column < 2; column++) {
        free(texts[column].start);
        free(ends[column].start);
    }
    free(scores.start);
    free(ranks.start);
    return is_plain;
}

int main(int count, char **words) {
    if (count != 3)
        return 2;
    time_t end = time(NULL) + atol(words[2]);
    uint64_t inputs = 0, plain = 0, columns = 0;
    char *text = malloc(ROOM);
    state = strtoull(words[1], NULL, 10) * 2 + 1;
    while (time(NULL) < end) {
        for (int turn = 0; turn < 1000; turn++) {
            int is_broken = below(10) > 0;
            size_t length = make_ranking(text);
            if (is_broken)
                length = mutate(text, length);
            if (length && below(2))
                text[length - 1] = '\n';
            uint8_t *exact = malloc(length + !length); /* its end is the end of what may be read */
            uint8_t *whole = malloc(6);
            memcpy(exact, text, length);
            memcpy(whole, "q1\nq3\n", 6);
            Bytes parts[PARTS] = {{0}}, others[PARTS] = {{0}};
            Text given = {exact, (const uint8_t *)" t\n", length, 3};
            Wanted wanted = {whole, 6, 1 + (int64_t)below(5)};
            int is_plain = read_text(&given, wanted, parts);
            if (is_plain)
                check_parts(parts, length);
            if (read_as_columns(text, length, wanted, others)) {
                check_parts(others, length);
                columns++;
            }
            for (int part = 0; part < PARTS; part++) {
                free(parts[part].start);
                free(others[part].start);
            }
            free(exact);
            free(whole);
            inputs++;
            plain += is_plain;
        }
    }
    free(text);
    printf("%llu inputs, %llu of them plain, %llu as columns\n", (unsigned long long)inputs, (unsigned long long)plain,
           (unsigned long long)columns);
    return !plain || plain == inputs || !columns || columns == inputs;
}
