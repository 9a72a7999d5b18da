/*
 * flow/render/listing/listing_columns.c --
 *
 *	The listing's columns: their names, the cells of a line, the line that names them, and cutting
 *	a line to its width. sink_text.c formats the event itself.
 */
#include "flow/render/listing/listing_int.h"
#include "base/unicode.h"

/* ---- The table --------------------------------------------------------------------------------- */

/*
 * Cells of LISTING_OTHER are columns of format/sink_table.c. A cell grows to `most` columns when a
 * line needs them; a wider text moves the rest of its line.
 */
/* clang-format off */
#define COLUMN_ROWS(ROW)                                                                           \
    ROW("time", "t", TIME, NONE, true, 11, 40)                                                     \
    ROW("cpu", "c", OTHER, CPU, true, 3, 4)                                                        \
    ROW("process", "p", PROCESS, NONE, false, 9, 24)                                               \
    ROW("pid", NULL, PID, NONE, true, 6, 10)                                                       \
    ROW("thread", "tid", THREAD, NONE, true, 6, 10)                                                \
    ROW("provider", "prov", PROVIDER, NONE, false, 10, 24)                                         \
    ROW("id", NULL, OTHER, ID, true, 5, 5)                                                         \
    ROW("version", "ver", OTHER, VERSION, true, 3, 3)                                              \
    ROW("channel", "chan", OTHER, CHANNEL_NAME, false, 8, 24)                                      \
    ROW("level", "lev", OTHER, LEVEL_NAME, false, 11, 11)                                          \
    ROW("opcode", "op", OTHER, OPCODE_NAME, false, 8, 20)                                          \
    ROW("task", NULL, OTHER, TASK_NAME, false, 10, 24)                                             \
    ROW("keyword", "kw", KEYWORD, NONE, true, 10, 18)                                              \
    ROW("activity", "act", OTHER, ACTIVITY, false, 36, 36)                                         \
    ROW("related", "rel", OTHER, RELATED, false, 36, 36)                                           \
    ROW("size", "sz", SIZE, NONE, true, 5, 5)                                                      \
    ROW("name", "n", NAME, NONE, false, 12, 32)                                                    \
    ROW("details", "d", DETAILS, NONE, false, 32, 80)                                              \
    ROW("event", "e", EVENT, NONE, false, 32, 80)                                                  \
    ROW("object", "obj", OTHER, OBJECT, false, 24, 60)                                             \
    ROW("message", "msg", OTHER, MESSAGE, false, 32, 80)                                           \
    ROW("stack", "st", STACK, NONE, false, 32, 80)
/* clang-format on */

typedef struct ColumnRow {
    const char *name, *alias; /* as users write them */
    ListingColumnKind kind;
    EtwColumnId other; /* LISTING_OTHER: the column of sink_table.c */
    bool right;        /* aligned to the right */
    int width, most;
} ColumnRow;

#define COLUMN_ROW(name, alias, kind, other, right, width, most)                                   \
    {name, alias, LISTING_##kind, ETW_COLUMN_##other, right, width, most},
static const ColumnRow rows[] = {COLUMN_ROWS(COLUMN_ROW)};
enum { ROWS = sizeof rows / sizeof *rows };

#define COLUMN_NAME(name, ...) name,
const char *const etwListingColumnNames[] = {COLUMN_ROWS(COLUMN_NAME) NULL};
static const char *const defaultColumns[] = {"time", "process", "provider", "event"};

/* NULL: no such column. */
static const ColumnRow *findRow(const char *name)
{
    for (int i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].name, name) == 0 ||
                (rows[i].alias != NULL && strcmp(rows[i].alias, name) == 0)) {
            return &rows[i];
        }
    }
    return NULL;
}

/* props(NAME), a field of the payload, or a derived value such as time(elapsed). */
static bool isField(const char *name)
{
    size_t size = strlen(name);
    return (size > 7 && memcmp(name, "props(", 6) == 0 && name[size - 1] == ')') ||
           (strchr(name, '(') != NULL && EtwColumnIsKnown(name));
}

bool EtwListingHasColumn(const char *name)
{
    return findRow(name) != NULL || isField(name);
}

/* ---- Begin and end ----------------------------------------------------------------------------- */

static void limit(ListingColumn *column, ListingColumnKind kind, int most)
{
    if (column->kind == kind) {
        column->most = most;
        column->width = column->width < most ? column->width : most;
    }
}

static void initColumn(EtwSink *sink, ListingColumn *column, const char *name)
{
    static const int timeWidths[] = {11, 27, 19, 18}; /* of EtwTimeFormat */
    static const ColumnRow field = {NULL, NULL, LISTING_OTHER, ETW_COLUMN_NONE, false, 8, 40};
    const ColumnRow *row = findRow(name);
    if (row == NULL) {
        row = &field;
    }
    column->name = row->name != NULL ? row->name : name;
    column->kind = row->kind;
    column->right = row->right;
    column->width = row->width;
    column->most = row->most;
    if (row->kind == LISTING_TIME) {
        column->width = timeWidths[sink->config.timeFormat];
    }
    if (sink->config.width > 0 && sink->config.width < LISTING_NARROW) {
        limit(column, LISTING_PROCESS, LISTING_NARROW_PROCESS);
        limit(column, LISTING_PROVIDER, LISTING_NARROW_PROVIDER);
    }
    if (row->kind == LISTING_OTHER) {
        column->other =
                row->other != ETW_COLUMN_NONE ? EtwColumnNewOf(row->other) : EtwColumnNew(name);
    }
}

static bool isOfWriter(ListingColumnKind kind)
{
    return kind == LISTING_PROCESS || kind == LISTING_PID || kind == LISTING_THREAD ||
           kind == LISTING_PROVIDER;
}

/* The first of these columns that are adjacent, without the last column, which is not padded. */
static void findWriterColumns(ListingSink *text)
{
    int i = 0, end = text->columnCount - 1;
    while (i < end && !isOfWriter(text->columns[i].kind)) {
        i++;
    }
    text->writerFrom = i;
    while (i < end && isOfWriter(text->columns[i].kind)) {
        i++;
    }
    text->writerEnd = i;
}

void EtwListingColumnsInit(EtwSink *sink)
{
    ListingSink *text = sink->own;
    const char *const *names = sink->config.columns;
    int count = sink->config.columnCount;
    if (names == NULL) {
        names = defaultColumns;
        count = sizeof defaultColumns / sizeof *defaultColumns;
    }
    text->columns = EtwAlloc((size_t)count * sizeof *text->columns + 1);
    text->columnCount = count;
    for (int i = 0; i < count; i++) {
        initColumn(sink, &text->columns[i], names[i]);
        text->threadColumn |= text->columns[i].kind == LISTING_THREAD;
        text->stackColumn |= text->columns[i].kind == LISTING_STACK;
    }
    findWriterColumns(text);
}

void EtwListingColumnsFree(ListingSink *text)
{
    for (int i = 0; i < text->columnCount; i++) {
        EtwColumnFree(text->columns[i].other);
    }
    EtwFree(text->columns);
}

/* ---- Widths ------------------------------------------------------------------------------------ */

/* The end of the escape sequence of a colour that begins at `at`. */
static size_t escapeEnd(const EtwText *out, size_t at)
{
    const char *end = memchr(out->data + at, 'm', out->size - at);
    return end != NULL ? (size_t)(end + 1 - out->data) : out->size;
}

/*
 * The end of the longest part of the text from `from` on that takes at most `most` columns. Escape
 * sequences of colours have no width.
 */
static size_t fit(const EtwText *out, size_t from, size_t most, size_t *widthPtr)
{
    size_t at = from, width = 0, part;
    while (at < out->size) {
        const char *escape = memchr(out->data + at, '\033', out->size - at);
        size_t end = escape != NULL ? (size_t)(escape - out->data) : out->size;
        size_t taken = EtwUtf8Fit(out->data + at, end - at, most - width, &part);
        width += part;
        at += taken;
        if (at < end) {
            break;
        }
        if (escape != NULL) {
            at = escapeEnd(out, at);
        }
    }
    *widthPtr = width;
    return at;
}

size_t EtwListingWidth(const EtwText *out, size_t from)
{
    size_t width;
    fit(out, from, SIZE_MAX, &width);
    return width;
}

bool EtwListingCut(EtwSink *sink, size_t from, EtwText *out)
{
    size_t most = (size_t)sink->config.width, width;
    if (most == 0 || out->size - from <= most) { /* no character has more columns than bytes */
        return false;
    }
    size_t cut = fit(out, from, most - 1, &width); /* leaves a column for the mark */
    if (fit(out, cut, most - width, &width) == out->size) {
        return false;
    }
    out->size = cut;
    ETW_ADD(out, ETW_LISTING_CUT);
    EtwListingColor(sink, RESET, out);
    return true;
}

/* ---- Cells ------------------------------------------------------------------------------------- */

static void addId(EtwText *out, uint32_t id)
{
    if (id == ETW_NO_ID) {
        ETW_ADD(out, "-");
    } else {
        EtwAddDecimal(out, id);
    }
}

static void addHex(EtwText *out, uint64_t v)
{
    ETW_ADD(out, "0x");
    EtwTextHex(out, v, 1);
}

/* The frames of the stack, the innermost first. */
static void addStack(EtwSink *sink, const EtwEvent *event, EtwText *out)
{
    EtwFrameWalk walk;
    bool some = false;
    EtwFrameWalkBegin(&walk, sink->track, event);
    for (const EtwFrame *frame; (frame = EtwFrameNext(&walk)) != NULL; some = true) {
        sink->scratch2.size = 0;
        EtwFrameText(frame, &sink->scratch2);
        if (some) {
            ETW_ADD(out, " < ");
        }
        EtwAddSafe(out, sink->scratch2.data, sink->scratch2.size);
    }
}

static void addName(const ListingLine *line, EtwText *out)
{
    if (line->layout == NULL || line->layout->name.size == 0) {
        EtwListingAddUnnamed(out, line->event);
    } else {
        EtwAddShort(out, line->layout->name.data, line->layout->name.size);
    }
}

static void addOther(EtwSink *sink, ListingColumn *column, const ListingLine *line, EtwText *out)
{
    EtwText *cell = &((ListingSink *)sink->own)->cell;
    cell->size = 0;
    EtwColumnAdd(column->other, sink, line->event, line->schema, cell);
    EtwAddSafe(out, cell->data, cell->size);
}

static void addCell(EtwSink *sink, ListingColumn *column, const ListingLine *line, EtwText *out)
{
    switch (column->kind) {
    case LISTING_TIME:
        EtwTextReserve(out, 64);
        EtwSinkTime(sink, line->event->time, 6, out);
        break;
    case LISTING_PROCESS:
        EtwAddShort(out, line->thread->label,
                ((ListingSink *)sink->own)->threadColumn ? line->thread->processSize
                                                         : line->thread->labelSize);
        break;
    case LISTING_PID:
        addId(out, line->event->pid);
        break;
    case LISTING_THREAD:
        addId(out, line->event->tid);
        break;
    case LISTING_PROVIDER:
        EtwAddShort(out, line->provider->column.data, line->provider->column.size);
        break;
    case LISTING_KEYWORD:
        addHex(out, line->event->desc.keyword);
        break;
    case LISTING_SIZE:
        EtwAddDecimal(out, line->event->payloadSize);
        break;
    case LISTING_NAME:
        addName(line, out);
        break;
    case LISTING_DETAILS:
        EtwListingBody(sink, line, false, out);
        break;
    case LISTING_EVENT:
        EtwListingBody(sink, line, true, out);
        break;
    case LISTING_STACK:
        addStack(sink, line->event, out);
        break;
    case LISTING_OTHER:
        addOther(sink, column, line, out);
        break;
    }
}

static inline bool isDim(ListingColumnKind kind)
{
    return kind != LISTING_PROVIDER && kind < LISTING_NAME;
}

/* The columns that the cell takes. Those whose width is known without reading their text first. */
static inline int cellWidth(const EtwSink *sink, const ListingColumn *column,
        const ListingLine *line, const EtwText *out, size_t from)
{
    if (column->kind == LISTING_PROVIDER) {
        return line->provider->width;
    }
    if (column->kind == LISTING_PROCESS) {
        return ((const ListingSink *)sink->own)->threadColumn ? line->thread->processWidth
                                                              : line->thread->labelWidth;
    }
    if (column->kind <= LISTING_SIZE) { /* digits and signs */
        return (int)(out->size - from);
    }
    return (int)EtwListingWidth(out, from);
}

/* Widen a column for a text of that width. */
static void widen(ListingSink *text, ListingColumn *column, int width)
{
    if (width > column->width && width <= column->most) {
        column->width = width;
        text->widths++;
    }
}

/* Pad the cell that was appended from `from` on. */
static void pad(ListingSink *text, ListingColumn *column, int width, size_t from, EtwText *out)
{
    widen(text, column, width);
    int missing = column->width - width;
    if (missing <= 0) {
        return;
    }
    size_t blanks = (size_t)missing;
    EtwTextReserve(out, blanks);
    if (column->right) {
        memmove(out->data + from + blanks, out->data + from, out->size - from);
        memset(out->data + from, ' ', blanks);
    } else {
        memset(out->data + out->size, ' ', blanks);
    }
    out->size += blanks;
}

static inline void addColumn(EtwSink *sink, int i, const ListingLine *line, EtwText *out)
{
    ListingSink *text = sink->own;
    ListingColumn *column = &text->columns[i];
    bool dim = sink->config.color && isDim(column->kind);
    EtwTextReserve(out, 256);
    if (i > 0) {
        out->data[out->size++] = ' ';
        out->data[out->size++] = ' ';
    }
    if (dim) {
        ETW_ADD(out, DIM);
    }
    size_t from = out->size;
    addCell(sink, column, line, out);
    if (out->size == from) {
        EtwTextChar(out, '-');
    }
    if (i < text->columnCount - 1) {
        pad(text, column, cellWidth(sink, column, line, out, from), from, out);
    }
    if (dim) {
        ETW_ADD(out, RESET);
    }
}

/* The columns of the thread and the provider: mostly as they were in an earlier line. */
static void addWriter(EtwSink *sink, const ListingLine *line, EtwText *out)
{
    ListingSink *text = sink->own;
    uint64_t hash = EtwHashPointer(line->thread) ^ EtwHashPointer(line->provider);
    ListingWriter *writer = &text->writers[hash % RECENT_WRITERS];
    if (writer->thread == line->thread && writer->provider == line->provider &&
            writer->process == line->thread->process && writer->widths == text->widths) {
        EtwTextAdd(out, writer->cells, writer->size);
        return;
    }
    size_t from = out->size;
    for (int i = text->writerFrom; i < text->writerEnd; i++) {
        addColumn(sink, i, line, out);
    }
    size_t size = out->size - from;
    writer->thread = size <= WRITER_MAX ? line->thread : NULL;
    writer->provider = line->provider;
    writer->process = line->thread->process;
    writer->widths = text->widths;
    writer->size = (uint32_t)size;
    memcpy(writer->cells, out->data + from, size <= WRITER_MAX ? size : 0);
}

void EtwListingCells(EtwSink *sink, const ListingLine *line, EtwText *out)
{
    ListingSink *text = sink->own;
    for (int i = 0; i < text->columnCount; i++) {
        if (i == text->writerFrom && i < text->writerEnd) {
            addWriter(sink, line, out);
            i = text->writerEnd - 1;
        } else {
            addColumn(sink, i, line, out);
        }
    }
}

/* ---- The line that names the columns ------------------------------------------------------------- */

static const char *headingOf(const EtwSink *sink, const ListingColumn *column)
{
    const ListingSink *text = sink->own;
    return column->kind == LISTING_PROCESS && !text->threadColumn ? "process/thread" : column->name;
}

void EtwListingHeadings(EtwSink *sink, const ListingLine *line, EtwText *out)
{
    ListingSink *text = sink->own;
    EtwText *cell = &text->cell;
    EtwListingColor(sink, BOLD, out);
    size_t start = out->size;
    ETW_ADD(out, "-- ");
    for (int i = 0; i < text->columnCount; i++) {
        ListingColumn *column = &text->columns[i];
        int taken = i == 0 ? 3 : 0;
        cell->size = 0;
        EtwAddSafeStr(cell, headingOf(sink, column));
        int width = (int)EtwUtf8Width(cell->data, cell->size) + taken;
        if (i == 0 && width > column->width) {
            column->width = width;
        }
        widen(text, column, width);
        if (column->kind == LISTING_PROCESS || column->kind == LISTING_PROVIDER) {
            widen(text, column, cellWidth(sink, column, line, out, out->size));
        }
        EtwTextStr(out, i > 0 ? "  " : "");
        size_t from = i == 0 ? start + 3 : out->size;
        EtwTextAdd(out, cell->data, cell->size);
        if (i < text->columnCount - 1) {
            ListingColumn padded = *column;
            padded.right &= column->kind != LISTING_TIME;
            padded.most = 0;
            padded.width -= taken;
            pad(text, &padded, width - taken, from, out);
        }
    }
    EtwListingColor(sink, RESET, out);
    EtwTextChar(out, '\n');
}
