/*
 * flow/render/listing/listing_int.h --
 *
 *	The state of the listing: columns, providers, event classes (layouts) and threads. sink_text.c formats
 *	events, listing_columns.c puts them into columns and cuts lines,
 *	listing_layout.c chooses how an event class is shown, listing_fields.c has the Name=value part,
 *	listing_threads.c tracks calls of threads, listing_header.c has header and footer. For these files
 *	only.
 */
#ifndef ETW_LISTING_INT_H
#define ETW_LISTING_INT_H

#include "flow/render/columns.h"
#include "flow/render/sink_int.h"
#include "semantics/semantics.h"
#include "base/hash_table.h"

/* ---- Threads (listing_threads.c) ---------------------------------------------------------------- */

enum {
    TEXT_LABEL_MAX = 96,
    TEXT_PROCESS_MAX = 60, /* bytes */
    TEXT_NAME_MAX = 46,
    TEXT_LEVELS_SHOWN = 30,
    TEXT_LEVELS_KEPT = 256
};

/* A call or step without a leave so far. */
typedef struct ListingCall {
    uint64_t id;
    int64_t time;
    bool open;
    bool step;
    uint8_t nameSize;
    char name[TEXT_NAME_MAX];
} ListingCall;

typedef struct ListingThread {
    EtwTableNode node;
    uint32_t pid, tid;
    const char *process;               /* its name when the label was made; NULL: unknown */
    uint8_t labelSize, labelWidth;     /* bytes and columns of the label */
    uint8_t processSize, processWidth; /* of its part before the slash */
    char label[TEXT_LABEL_MAX];        /* PID/TID, or NAME(PID)/TID */
    int level; /* number of script calls that the thread is in; events are indented below them */
    int kept;  /* calls in use, <= TEXT_LEVELS_KEPT; calls[n - 1] is that of depth n */
    ListingCall *calls;
} ListingThread;

typedef struct ListingThreads {
    EtwTable table;
    ListingThread *last;
    int nameWidth; /* columns that the name of a process takes at most */
} ListingThreads;

ListingThread *EtwListingThreadOf(ListingThreads *threads, const EtwEvent *event);
void EtwListingEnter(ListingThread *thread, int depth, uint64_t id, int64_t time, bool step,
        const uint8_t *name, size_t nameSize);
void EtwListingLeave(ListingThread *thread, int depth, uint64_t id);
/*
 * The open call at that depth with that id; NULL: another call, or its enter is not in the trace.
 */
const ListingCall *EtwListingOpenCall(const ListingThread *thread, int depth, uint64_t id);
/* The indentation at that depth: a bar for each enclosing call, blanks for each step. */
void EtwListingIndent(const ListingThread *thread, int depth, EtwText *out);
/* Call visit for each open call, outermost first in each thread, threads by pid and tid. */
void EtwListingOpenCalls(const ListingThreads *threads,
        void (*visit)(void *ctx, const ListingThread *thread, const ListingCall *call), void *ctx);
void EtwListingThreadsFree(ListingThreads *threads);

/* ---- Fields (listing_fields.c) ------------------------------------------------------------------ */

typedef struct ListingLine ListingLine;

typedef struct ListingPrefix {
    const char *text; /* "Name=", safe to print */
    uint32_t size;
} ListingPrefix;

/*
 * " Name=value" for each field whose bit in `skip` is not set (only the first 64 fields have one),
 * then the remaining bytes. Ends when the line has more columns than are shown.
 */
void EtwListingFields(EtwSink *sink, const ListingLine *line, const EtwSchema *schema,
        const ListingPrefix *prefixes, uint64_t skip, EtwText *out);
/* A value as shown after a name; ambiguous texts are quoted. */
void EtwListingFieldValue(
        EtwSink *sink, const EtwField *field, const EtwValue *value, EtwText *out);
/* A text value without quotes. */
void EtwListingBareValue(EtwSink *sink, const EtwField *field, const EtwValue *value, EtwText *out);

/* ---- Providers and layouts (listing_layout.c) ------------------------------------------------------- */

typedef struct ListingProvider {
    EtwTableNode node;
    EtwGuid guid;
    char *name;
    uint64_t events;
    EtwText column; /* name, with its colour; safe to print; shortened on narrow terminals */
    int width;      /* columns that it takes */
} ListingProvider;

typedef enum ListingLayoutKind {
    LAYOUT_FIELDS,
    LAYOUT_ENTER,
    LAYOUT_LEAVE,
    LAYOUT_SOCKET,
    LAYOUT_FILE,
    LAYOUT_SYSTEM_CALL,
    LAYOUT_CHANNEL,
    LAYOUT_LINE,
    LAYOUT_HIDDEN
} ListingLayoutKind;

typedef struct ListingLayout {
    EtwTableNode node;
    const EtwSchema *schema;
    const char *named; /* schema->provider when `provider` was found */
    ListingLayoutKind kind;
    bool step;                 /* LAYOUT_ENTER, LAYOUT_LEAVE: of a step, not a call */
    const char *arrow;         /* LAYOUT_SOCKET */
    ListingProvider *provider; /* a schema belongs to one provider */
    EtwText name;              /* the event's; safe to print */
    ListingPrefix *prefixes;
    EtwText prefixText;
    uint64_t shown; /* a bit for each field that the layout handles */
} ListingLayout;

/* ---- Columns (listing_columns.c) ---------------------------------------------------------------- */

/* The first ones, up to LISTING_SIZE, have ASCII only. Behind LISTING_NAME: text of the event. */
typedef enum ListingColumnKind {
    LISTING_TIME,
    LISTING_PID,
    LISTING_THREAD,
    LISTING_KEYWORD,
    LISTING_SIZE,
    LISTING_PROCESS,
    LISTING_PROVIDER,
    LISTING_OTHER,
    LISTING_NAME,
    LISTING_DETAILS,
    LISTING_EVENT,
    LISTING_STACK
} ListingColumnKind;

typedef struct ListingColumn {
    ListingColumnKind kind;
    const char *name;
    EtwColumn *other; /* of LISTING_OTHER */
    bool right;
    int width, most; /* columns of the terminal, now and at most */
} ListingColumn;

/* What the cells of a line are made of. */
struct ListingLine {
    const EtwEvent *event;
    const EtwSchema *schema;     /* NULL: unknown */
    const ListingLayout *layout; /* NULL: unknown */
    ListingProvider *provider;
    ListingThread *thread;
    size_t start;   /* of the line in the output */
    size_t columns; /* the line is cut at this width; SIZE_MAX: never */
};

/*
 * On a narrow terminal, the columns of process and provider are at most as wide as these, so that
 * the event has about half of the line. Tcl-Script fits.
 */
enum { LISTING_NARROW = 100, LISTING_NARROW_PROCESS = 15, LISTING_NARROW_PROVIDER = 10 };

#define ETW_LISTING_CUT "\xE2\x80\xA6" /* an ellipsis, in place of what is not shown */

void EtwListingColumnsInit(EtwSink *sink);
/* Append the line's cells. */
void EtwListingCells(EtwSink *sink, const ListingLine *line, EtwText *out);
/* Append the line that names the columns, which are made wide enough for the first line. */
void EtwListingHeadings(EtwSink *sink, const ListingLine *line, EtwText *out);
/* The columns that the text from `from` on takes. */
size_t EtwListingWidth(const EtwText *out, size_t from);
/* Cut the line that was appended from `from` on to the width of the sink. True: it was too long. */
bool EtwListingCut(EtwSink *sink, size_t from, EtwText *out);

enum { RECENT_LAYOUTS = 256, RECENT_WRITERS = 64, WRITER_MAX = 192 };

/* The cells of a thread and a provider as they were written last, padded. */
typedef struct ListingWriter {
    const ListingThread *thread;
    const ListingProvider *provider;
    const char *process; /* of the thread */
    uint32_t widths;     /* of the sink */
    uint32_t size;
    char cells[WRITER_MAX];
} ListingWriter;

typedef struct ListingSink {
    ListingThreads threads;
    EtwTable providers;
    int providerMost; /* columns that the name of a provider takes at most */
    ListingProvider *lastProvider;
    EtwTable layouts;
    ListingLayout *recent[RECENT_LAYOUTS];
    ListingWriter writers[RECENT_WRITERS];
    ListingColumn *columns;
    int columnCount;
    int writerFrom, writerEnd;        /* these columns depend only on the thread and the provider */
    uint32_t widths;                  /* changes when the width of a column does */
    bool threadColumn, stackColumn;   /* one of them is the thread, the stack */
    bool headed;                      /* the headings are written */
    bool calls, steps;                /* such lines were written */
    EtwText location, cell;           /* scratch */
    uint64_t events, hidden, symbols; /* not shown: header records, names of functions */
    uint64_t cut;                     /* lines */
    int64_t firstTime, lastTime;
} ListingSink;

void EtwListingColumnsFree(ListingSink *text);

ListingProvider *EtwListingProviderOf(
        EtwSink *sink, const EtwEvent *event, const EtwSchema *schema);
void EtwListingAddProvider(const EtwSink *sink, const ListingProvider *provider, EtwText *out);
ListingLayout *EtwListingLayoutOf(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema);
void EtwListingLayoutsFree(ListingSink *text);

/* ---- Header and footer (listing_header.c) --------------------------------------------------------- */

void EtwListingBegin(EtwSink *sink, const EtwSource *source, EtwText *out);
/* Before the first event: what the times are, the names of the columns. */
void EtwListingFirst(EtwSink *sink, const ListingLine *line, EtwText *out);
void EtwListingEnd(EtwSink *sink, const EtwSource *source, EtwText *out);
void EtwListingWarning(EtwSink *sink, const char *warning, EtwText *out);

/* ---- Parts of lines (sink_text.c) ------------------------------------------------------------ */

/* Append what the event is: with its indentation, and with its name unless that is in a column. */
void EtwListingBody(EtwSink *sink, const ListingLine *line, bool named, EtwText *out);
/* "#17" or "opcode 17", for an event without a name. */
void EtwListingAddUnnamed(EtwText *out, const EtwEvent *event);

#define RESET "\033[0m"
#define DIM "\033[2m"
#define RED "\033[31m"
#define YELLOW "\033[33m"
#define BOLD "\033[1m"

static inline void EtwListingColor(const EtwSink *sink, const char *escape, EtwText *out)
{
    if (sink->config.color) {
        EtwTextStr(out, escape);
    }
}

#endif
