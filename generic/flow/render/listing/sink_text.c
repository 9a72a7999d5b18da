/*
 * flow/render/listing/sink_text.c --
 *
 *	The listing: one line for each event, in columns (listing_columns.c). By default the last
 *	column is the event, indented to the script's call depth. Script calls, socket events and
 *	other events have different layouts (listing_layout.c).
 */
#include "flow/render/listing/listing_int.h"
#include "semantics/system_calls.h"
#include "schema/model/linux_names.h"
#include "schema/store/event_message.h"
#include <limits.h>

enum { STACK_INDENT = 16, RAW_INDENT = 4, NARROW_NAME = 8 };

/* ---- Parts of a line ------------------------------------------------------------------------- */

static inline void addBlanks(EtwText *out, int count)
{
    if (count > 0) {
        EtwTextReserve(out, (size_t)count);
        memset(out->data + out->size, ' ', (size_t)count);
        out->size += (size_t)count;
    }
}

static void addBare(EtwSink *sink, const EtwRoleValues *g, EtwRole role, EtwText *out)
{
    const EtwValue *v = EtwRoleValue(g, role);
    if (v != NULL) {
        EtwListingBareValue(sink, &g->schema->fields[g->semantics->field[role]], v, out);
    }
}

/* The end of a command's name, the first element of a list. */
static size_t nameSize(const uint8_t *text, size_t size)
{
    int depth = 0;
    for (size_t i = 0; i < size; i++) {
        depth += (text[i] == '{') - (text[i] == '}');
        if (depth <= 0 && text[i] == ' ') {
            return i;
        }
    }
    return size;
}

/*
 * Shows only the first line of a command with several lines (a loop with its body); csv, json and
 * list have all of them. Returns the end of the command's name in `out`.
 */
static size_t addCommand(EtwSink *sink, const EtwRoleValues *g, EtwText *out)
{
    const EtwValue *v = EtwRoleValue(g, ETW_ROLE_COMMAND);
    if (v == NULL || v->kind != ETW_V_TEXT) {
        addBare(sink, g, ETW_ROLE_COMMAND, out);
        return out->size;
    }
    const EtwField *field = &g->schema->fields[g->semantics->field[ETW_ROLE_COMMAND]];
    const uint8_t *end = v->size > 0 ? memchr(v->data, '\n', v->size) : NULL;
    size_t size = end ? (size_t)(end - v->data) : v->size;
    EtwValue part = *v;
    part.size = nameSize(v->data, size);
    EtwListingBareValue(sink, field, &part, out);
    size_t nameEnd = out->size;
    part.data = v->data + part.size;
    part.size = size - part.size;
    EtwListingBareValue(sink, field, &part, out);
    if (end != NULL) {
        ETW_ADD(out, " \xE2\x80\xA6");
    }
    return nameEnd;
}

static bool hasText(const EtwRoleValues *g, EtwRole role)
{
    const EtwValue *v = EtwRoleValue(g, role);
    return v != NULL && v->size > 0;
}

/* ---- Script events --------------------------------------------------------------------------- */

static int depthOf(const EtwRoleValues *g)
{
    uint64_t depth = EtwRoleNumber(g, ETW_ROLE_DEPTH);
    return depth < 1 ? 1 : depth > 0xFFFF ? 0xFFFF : (int)depth;
}

/* file.tcl:12. The file's folders are shown only by csv, json and list. */
static void addFileLine(EtwSink *sink, const EtwRoleValues *g, EtwText *out)
{
    const EtwValue *file = EtwRoleValue(g, ETW_ROLE_FILE);
    EtwValue tail = *file;
    for (size_t i = 0; file->kind == ETW_V_TEXT && i < file->size; i++) {
        if (file->data[i] == '/' && i + 1 < file->size) {
            tail.data = file->data + i + 1;
            tail.size = file->size - i - 1;
        }
    }
    EtwListingBareValue(sink, &g->schema->fields[g->semantics->field[ETW_ROLE_FILE]], &tail, out);
    EtwTextChar(out, ':');
    addBare(sink, g, ETW_ROLE_LINE, out);
}

static void addLocation(
        EtwSink *sink, const ListingLayout *layout, const EtwRoleValues *g, EtwText *out)
{
    EtwListingColor(sink, layout->step ? DIM : RESET DIM, out);
    ETW_ADD(out, " (");
    addFileLine(sink, g, out);
    EtwTextChar(out, ')');
    EtwListingColor(sink, layout->step ? RESET : RESET BOLD, out);
}

/*
 * The location is inserted after the command's name, because at the end of a long line it would not
 * be visible.
 */
static void insertLocation(
        EtwSink *sink, const ListingLayout *layout, const EtwRoleValues *g, size_t at, EtwText *out)
{
    EtwText *location = &((ListingSink *)sink->own)->location;
    location->size = 0;
    addLocation(sink, layout, g, location);
    EtwTextReserve(out, location->size);
    memmove(out->data + at + location->size, out->data + at, out->size - at);
    memcpy(out->data + at, location->data, location->size);
    out->size += location->size;
}

/* The time between a callback's due time and its start. */
static void addQueued(EtwSink *sink, const EtwRoleValues *g, EtwText *out)
{
    uint64_t queued = EtwRoleNumber(g, ETW_ROLE_QUEUED);
    if (queued != 0) {
        ETW_ADD(out, "  queued ");
        EtwListingColor(sink, YELLOW, out);
        EtwAddDuration(out, queued);
        EtwListingColor(sink, RESET, out);
    }
}

/* > http::geturl (file.tcl:12) http://127.0.0.1:8080/ -timeout 5000 */
static void addEnter(EtwSink *sink, const EtwEvent *event, const ListingLayout *layout,
        const EtwRoleValues *g, ListingThread *thread, EtwText *out)
{
    int depth = depthOf(g);
    ListingSink *text = sink->own;
    *(layout->step ? &text->steps : &text->calls) = true;
    EtwListingIndent(thread, depth - 1, out);
    if (layout->step) {
        ETW_ADD(out, ". ");
    } else {
        EtwListingColor(sink, BOLD, out);
        ETW_ADD(out, "> ");
    }
    size_t from = out->size;
    if (hasText(g, ETW_ROLE_KIND)) { /* [after] tick */
        EtwTextChar(out, '[');
        addBare(sink, g, ETW_ROLE_KIND, out);
        ETW_ADD(out, "] ");
    }
    size_t nameEnd = addCommand(sink, g, out);
    EtwListingEnter(thread, depth, EtwRoleNumber(g, ETW_ROLE_CALL_ID), event->time, layout->step,
            (const uint8_t *)out->data + from, out->size - from);
    if (hasText(g, ETW_ROLE_FILE)) {
        insertLocation(sink, layout, g, nameEnd, out);
    }
    if (!layout->step) {
        EtwListingColor(sink, RESET, out);
    }
    addQueued(sink, g, out);
}

/* file.tcl:12 set x 1; for code without a file, "line 3" of its body. */
static void addLine(EtwSink *sink, const EtwRoleValues *g, EtwText *out)
{
    EtwListingColor(sink, DIM, out);
    if (hasText(g, ETW_ROLE_FILE)) {
        addFileLine(sink, g, out);
    } else {
        ETW_ADD(out, "line ");
        addBare(sink, g, ETW_ROLE_LINE, out);
    }
    EtwListingColor(sink, RESET, out);
    ETW_ADD(out, "  ");
    addBare(sink, g, ETW_ROLE_COMMAND, out);
}

/* The outcome of a call: = result, ! error message, or the name of another code and the result. */
static void addOutcome(EtwSink *sink, const EtwRoleValues *g, EtwText *out)
{
    static const char *const codes[] = {"ok", "error", "return", "break", "continue"};
    const EtwValue *code = EtwRoleValue(g, ETW_ROLE_CODE);
    int64_t c = code ? code->i : 0;
    bool result = hasText(g, ETW_ROLE_RESULT);
    if (c == 1) {
        EtwListingColor(sink, RED, out);
        ETW_ADD(out, "  ! error ");
        addBare(sink, g, ETW_ROLE_RESULT, out);
        EtwListingColor(sink, RESET, out);
        return;
    }
    if (c >= 2 && c <= 4) {
        ETW_ADD(out, "  ");
        EtwTextStr(out, codes[c]);
    } else if (c != 0) {
        ETW_ADD(out, "  code ");
        EtwAddSigned(out, c);
    }
    if (result) {
        ETW_ADD(out, "  = ");
        addBare(sink, g, ETW_ROLE_RESULT, out);
    }
}

/* The call's name. Leave events of callbacks and packages do not contain it. */
static void addLeft(EtwSink *sink, const ListingLayout *layout, const EtwRoleValues *g,
        const ListingThread *thread, EtwText *out)
{
    if (g->semantics->field[ETW_ROLE_COMMAND] >= 0) {
        addBare(sink, g, ETW_ROLE_COMMAND, out);
        return;
    }
    const ListingCall *call =
            EtwListingOpenCall(thread, depthOf(g), EtwRoleNumber(g, ETW_ROLE_CALL_ID));
    if (call != NULL) {
        EtwTextAdd(out, call->name, call->nameSize);
    } else if (hasText(g, ETW_ROLE_KIND)) { /* its enter is not shown */
        EtwTextChar(out, '[');
        addBare(sink, g, ETW_ROLE_KIND, out);
        EtwTextChar(out, ']');
    } else {
        EtwTextAdd(out, layout->name.data, layout->name.size);
    }
}

/* < http::geturl  4.187 ms  = ::http::1 */
static void addLeave(EtwSink *sink, const ListingLayout *layout, const EtwRoleValues *g,
        ListingThread *thread, EtwText *out)
{
    int depth = depthOf(g);
    EtwListingIndent(thread, depth - 1, out);
    if (layout->step) {
        ETW_ADD(out, ": ");
    } else {
        ETW_ADD(out, "< ");
    }
    addLeft(sink, layout, g, thread, out);
    ETW_ADD(out, "  ");
    EtwListingColor(sink, YELLOW, out);
    EtwAddDuration(out, EtwRoleNumber(g, ETW_ROLE_DURATION));
    EtwListingColor(sink, RESET, out);
    addOutcome(sink, g, out);
    EtwListingLeave(thread, depth, EtwRoleNumber(g, ETW_ROLE_CALL_ID));
}

/* read file5 5500 bytes  12.699 us; open file5 (/etc/hosts r)  41.031 us; after (100)  100.073 ms */
static void addChannel(EtwSink *sink, const EtwRoleValues *g, EtwText *out)
{
    const EtwValue *code = EtwRoleValue(g, ETW_ROLE_CODE);
    addBare(sink, g, ETW_ROLE_OPERATION, out);
    if (hasText(g, ETW_ROLE_CHANNEL)) {
        EtwTextChar(out, ' ');
        addBare(sink, g, ETW_ROLE_CHANNEL, out);
    }
    if (EtwRoleNumber(g, ETW_ROLE_BYTES) != 0) {
        EtwTextChar(out, ' ');
        addBare(sink, g, ETW_ROLE_BYTES, out);
        ETW_ADD(out, " bytes");
    }
    if (hasText(g, ETW_ROLE_DETAIL)) {
        ETW_ADD(out, " (");
        addBare(sink, g, ETW_ROLE_DETAIL, out);
        EtwTextChar(out, ')');
    }
    ETW_ADD(out, "  ");
    EtwListingColor(sink, YELLOW, out);
    EtwAddDuration(out, EtwRoleNumber(g, ETW_ROLE_DURATION));
    EtwListingColor(sink, RESET, out);
    if (code != NULL && code->i != 0) {
        EtwListingColor(sink, RED, out);
        ETW_ADD(out, "  ! error");
        EtwListingColor(sink, RESET, out);
    }
}

/* ---- Socket events --------------------------------------------------------------------------- */

/* True if an address is any address and the port is 0: this end was not known, or has no peer. */
static bool isNoEnd(const EtwRoleValues *g, EtwRole addr, EtwRole port)
{
    const EtwValue *v = EtwRoleValue(g, addr);
    bool any = v != NULL && EtwRoleNumber(g, port) == 0;
    for (uint32_t i = 0; any && v->kind == ETW_V_BYTES && i < v->size; i++) {
        any = v->data[i] == 0;
    }
    return any && (v->kind == ETW_V_BYTES || EtwRoleNumber(g, addr) == 0);
}

static void addEnd(EtwSink *sink, const EtwRoleValues *g, EtwRole addr, EtwRole port, EtwText *out)
{
    const EtwValue *v = EtwRoleValue(g, addr);
    bool six = v != NULL && v->kind == ETW_V_BYTES;
    if (isNoEnd(g, addr, port)) {
        EtwTextChar(out, '-');
        return;
    }
    if (six) {
        EtwTextChar(out, '[');
    }
    addBare(sink, g, addr, out);
    if (six) {
        EtwTextChar(out, ']');
    }
    EtwTextChar(out, ':');
    addBare(sink, g, port, out);
}

/* Send 127.0.0.1:40000 -> 127.0.0.1:8080 142 bytes */
static void addSocket(EtwSink *sink, const EtwEvent *event, const ListingLayout *named,
        const EtwRoleValues *g, const char *arrow, EtwText *out)
{
    const EtwValue *size = EtwRoleValue(g, ETW_ROLE_SIZE);
    const EtwValue *context = EtwRoleValue(g, ETW_ROLE_CONTEXT_PID);
    if (named != NULL) {
        EtwTextAdd(out, named->name.data, named->name.size);
        EtwTextChar(out, ' ');
    }
    addEnd(sink, g, ETW_ROLE_LOCAL_ADDR, ETW_ROLE_LOCAL_PORT, out);
    EtwTextStr(out, arrow);
    addEnd(sink, g, ETW_ROLE_REMOTE_ADDR, ETW_ROLE_REMOTE_PORT, out);
    if (size != NULL && size->kind == ETW_V_INT && size->i < 0) {
        EtwFailureText(out, g, ETW_ROLE_SIZE);
    } else if (size != NULL) {
        EtwTextChar(out, ' ');
        addBare(sink, g, ETW_ROLE_SIZE, out);
        ETW_ADD(out, " bytes");
    }
    if (EtwRoleValue(g, ETW_ROLE_OLD_STATE) && EtwRoleValue(g, ETW_ROLE_NEW_STATE)) {
        EtwTextChar(out, ' ');
        addBare(sink, g, ETW_ROLE_OLD_STATE, out);
        ETW_ADD(out, " > ");
        addBare(sink, g, ETW_ROLE_NEW_STATE, out);
    }
    if (context != NULL && context->u != 0 && context->u != event->pid) {
        ETW_ADD(out, " (in process ");
        EtwAddDecimal(out, context->u);
        ETW_ADD(out, ")");
    }
}

/* ---- Operations on files --------------------------------------------------------------------- */

static void addPath(EtwSink *sink, const EtwRoleValues *g, EtwRole role, EtwText *out)
{
    if (hasText(g, role)) {
        EtwListingFieldValue(
                sink, &g->schema->fields[g->semantics->field[role]], EtwRoleValue(g, role), out);
    } else {
        EtwTextChar(out, '-');
    }
}

/* 1221 of 4096 bytes at 64; of a failed call: 4096 bytes. At the file's own position: without it. */
static void addMoved(const EtwRoleValues *g, int64_t moved, EtwText *out)
{
    const EtwValue *offset = EtwRoleValue(g, ETW_ROLE_OFFSET);
    EtwTextChar(out, ' ');
    if (moved >= 0) {
        EtwAddSigned(out, moved);
        ETW_ADD(out, " of ");
    }
    EtwAddDecimal(out, EtwRoleNumber(g, ETW_ROLE_SIZE));
    ETW_ADD(out, " bytes");
    if (offset != NULL && offset->i != -1) {
        ETW_ADD(out, " at ");
        EtwAddSigned(out, offset->i);
    }
}

/* Read /etc/passwd 1221 of 4096 bytes; Create /etc/none failed: ENOENT (-2); Rename a -> b */
static void addFile(EtwSink *sink, const ListingLayout *named, const EtwRoleValues *g, EtwText *out)
{
    enum { FROM_PROC = 2 };
    const EtwValue *outcome = EtwRoleValue(g, ETW_ROLE_OUTCOME);
    if (named != NULL) {
        EtwTextAdd(out, named->name.data, named->name.size);
        EtwTextChar(out, ' ');
    }
    addPath(sink, g, ETW_ROLE_NAME, out);
    if (EtwRoleNumber(g, ETW_ROLE_NAME_SOURCE) == FROM_PROC) {
        ETW_ADD(out, " (name from /proc)");
    }
    if (g->semantics->field[ETW_ROLE_NEW_NAME] >= 0) {
        ETW_ADD(out, " -> ");
        addPath(sink, g, ETW_ROLE_NEW_NAME, out);
    }
    if (outcome == NULL) { /* the payload is too short */
        return;
    }
    if (EtwRoleValue(g, ETW_ROLE_SIZE) != NULL) {
        addMoved(g, outcome->i, out);
    }
    if (outcome->i < 0) {
        EtwFailureText(out, g, ETW_ROLE_OUTCOME);
    } else if (g->semantics->meaning == ETW_MEANS_FILE_OPEN) {
        ETW_ADD(out, " as descriptor ");
        EtwAddSigned(out, outcome->i);
    }
}

/* ---- System calls ---------------------------------------------------------------------------- */

/* Enter openat(AT_FDCWD, 0x7fbe074070b1, O_RDONLY|O_CLOEXEC); Exit openat = 3. false: cannot be shown so. */
static bool addSystemCall(const EtwRoleValues *g, const ListingLayout *named, EtwText *out)
{
    if (named != NULL) {
        EtwTextAdd(out, named->name.data, named->name.size);
        EtwTextChar(out, ' ');
    }
    return g->semantics->meaning == ETW_MEANS_SYSCALL_ENTER ? EtwSystemCallText(out, g)
                                                            : EtwSystemCallResult(out, g);
}

/* ---- The line -------------------------------------------------------------------------------- */

void EtwListingAddUnnamed(EtwText *out, const EtwEvent *event)
{
    if (event->classic) {
        ETW_ADD(out, "opcode ");
        EtwAddDecimal(out, event->desc.opcode);
    } else {
        ETW_ADD(out, "#");
        EtwAddDecimal(out, event->desc.id);
    }
}

/* Show the message instead of the fields, if requested or for WPP. */
static bool addMessage(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out)
{
    bool wanted = schema != NULL && schema->message != NULL &&
                  (sink->config.messages || schema->style == ETW_MESSAGE_WPP);
    if (!wanted) {
        return false;
    }
    sink->message.size = 0;
    EtwFormatMessage(&sink->message, schema, event);
    ETW_ADD(out, ": ");
    EtwAddSafe(out, sink->message.data, sink->message.size);
    return true;
}

/* Without a name before it, the text that was appended from `from` on does not begin with a blank. */
static void trim(size_t from, EtwText *out)
{
    size_t skip = from < out->size && out->data[from] == ':';
    skip += from + skip < out->size && out->data[from + skip] == ' ';
    memmove(out->data + from, out->data + from + skip, out->size - from - skip);
    out->size -= skip;
}

/* A line of Name=value, or the event's message. */
static void addFields(EtwSink *sink, const ListingLine *line, bool named, EtwText *out)
{
    const ListingLayout *layout = line->layout;
    EtwListingIndent(line->thread, line->thread->level, out);
    if (named && (layout == NULL || layout->name.size == 0)) {
        EtwListingAddUnnamed(out, line->event);
    } else if (named) {
        EtwAddShort(out, layout->name.data, layout->name.size);
    }
    size_t from = out->size;
    if (!addMessage(sink, line->event, line->schema, out)) {
        EtwListingFields(sink, line, line->schema, layout ? layout->prefixes : NULL, 0, out);
    }
    if (!named) {
        trim(from, out);
    }
}

void EtwListingBody(EtwSink *sink, const ListingLine *line, bool named, EtwText *out)
{
    const ListingLayout *layout = line->layout;
    const EtwEvent *event = line->event;
    ListingThread *thread = line->thread;
    if (layout == NULL || layout->kind == LAYOUT_FIELDS) {
        addFields(sink, line, named, out);
        return;
    }
    EtwRoleValues g;
    bool whole = EtwRoleValuesRead(&g, layout->schema, event);
    if (layout->kind == LAYOUT_SYSTEM_CALL) {
        size_t from = out->size;
        EtwListingIndent(thread, thread->level, out);
        if (!whole || !addSystemCall(&g, named ? layout : NULL, out)) {
            out->size = from;
            addFields(sink, line, named, out);
        }
        return;
    }
    if (layout->kind == LAYOUT_SOCKET || layout->kind == LAYOUT_FILE) {
        EtwListingIndent(thread, thread->level, out);
        if (layout->kind == LAYOUT_FILE) {
            addFile(sink, named ? layout : NULL, &g, out);
        } else {
            addSocket(sink, event, named ? layout : NULL, &g, layout->arrow, out);
        }
        EtwListingFields(sink, line, layout->schema, layout->prefixes, layout->shown, out);
        return;
    }
    if (layout->kind == LAYOUT_CHANNEL || layout->kind == LAYOUT_LINE) {
        EtwListingIndent(thread, thread->level, out);
        (layout->kind == LAYOUT_LINE ? addLine : addChannel)(sink, &g, out);
    } else if (layout->kind == LAYOUT_ENTER) {
        addEnter(sink, event, layout, &g, thread, out);
    } else {
        addLeave(sink, layout, &g, thread, out);
    }
    if (!whole) {
        ETW_ADD(out, " (" ETW_TOO_SHORT ")");
    }
}

/* Truncate the line that was appended from `from` on, and end it. */
static void endLine(EtwSink *sink, size_t from, EtwText *out)
{
    ((ListingSink *)sink->own)->cut += EtwListingCut(sink, from, out);
    EtwTextChar(out, '\n');
}

static void count(ListingSink *text, ListingProvider *provider, const EtwEvent *event)
{
    if (text->events == 0 || event->time < text->firstTime) {
        text->firstTime = event->time;
    }
    if (text->events == 0 || event->time > text->lastTime) {
        text->lastTime = event->time;
    }
    text->events++;
    provider->events++;
}

/* A line for each frame of the stack, indented below the event. */
static void addFrames(EtwSink *sink, const EtwEvent *event, EtwText *out)
{
    EtwFrameWalk walk;
    EtwFrameWalkBegin(&walk, sink->track, event);
    for (const EtwFrame *frame; (frame = EtwFrameNext(&walk)) != NULL;) {
        size_t from = out->size;
        EtwListingColor(sink, DIM, out);
        addBlanks(out, STACK_INDENT);
        sink->scratch2.size = 0;
        EtwFrameText(frame, &sink->scratch2);
        EtwFrameLineText(frame, &sink->scratch2);
        EtwAddSafe(out, sink->scratch2.data, sink->scratch2.size);
        EtwListingColor(sink, RESET, out);
        endLine(sink, from, out);
    }
}

/* The payload in hexadecimal digits, sixteen bytes a line, and its ASCII characters. */
static void addRaw(EtwSink *sink, const EtwEvent *event, EtwText *out)
{
    enum { ROW = 16 };
    for (uint32_t at = 0; at < event->payloadSize; at += ROW) {
        uint32_t size = event->payloadSize - at < ROW ? event->payloadSize - at : ROW;
        const uint8_t *bytes = event->payload + at;
        EtwListingColor(sink, DIM, out);
        addBlanks(out, RAW_INDENT);
        EtwTextHex(out, at, 4);
        EtwTextChar(out, ' ');
        for (uint32_t i = 0; i < ROW; i++) {
            EtwTextChar(out, ' ');
            if (i < size) {
                EtwTextHex(out, bytes[i], 2);
            } else {
                addBlanks(out, 2);
            }
        }
        addBlanks(out, 2);
        for (uint32_t i = 0; i < size; i++) {
            EtwTextChar(out, bytes[i] >= 0x20 && bytes[i] < 0x7F ? (char)bytes[i] : '.');
        }
        EtwListingColor(sink, RESET, out);
        EtwTextChar(out, '\n');
    }
}

static void textEvent(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out)
{
    ListingSink *text = sink->own;
    const ListingLayout *layout = schema ? EtwListingLayoutOf(sink, event, schema) : NULL;
    if (layout != NULL && layout->kind == LAYOUT_HIDDEN) {
        *(event->classic ? &text->hidden : &text->symbols) += 1;
        return;
    }
    ListingLine line = {event, schema, layout,
            layout ? layout->provider : EtwListingProviderOf(sink, event, NULL),
            EtwListingThreadOf(&text->threads, event), 0, SIZE_MAX};
    if (!text->headed) {
        EtwListingFirst(sink, &line, out);
    }
    size_t from = out->size;
    line.start = from;
    if (sink->config.width > 0) {
        line.columns = (size_t)sink->config.width;
    }
    count(text, line.provider, event);
    EtwListingCells(sink, &line, out);
    if (event->stackCount > 0 && !sink->config.stacks && !text->stackColumn) {
        ETW_ADD(out, " (stack of ");
        EtwAddDecimal(out, event->stackCount);
        EtwTextChar(out, ')');
    }
    if (event->late) {
        ETW_ADD(out, " (late)");
    }
    endLine(sink, from, out);
    if (sink->config.raw) {
        addRaw(sink, event, out);
    }
    if (event->stackCount > 0 && sink->config.stacks) {
        addFrames(sink, event, out);
    }
}

/* ---- The sink -------------------------------------------------------------------------------- */

static void textInit(EtwSink *sink)
{
    ListingSink *text = EtwAlloc(sizeof *text);
    int width = sink->config.width > 0 ? sink->config.width : INT_MAX;
    bool narrow = width < LISTING_NARROW;
    text->threads.nameWidth = narrow ? NARROW_NAME : width < 160 ? 20 : 30;
    text->providerMost = narrow ? LISTING_NARROW_PROVIDER : width < 120 ? 20 : INT_MAX;
    sink->own = text;
    EtwListingColumnsInit(sink);
    sink->secondWidth = 3;
}

static void textFree(EtwSink *sink)
{
    ListingSink *text = sink->own;
    EtwListingThreadsFree(&text->threads);
    EtwListingLayoutsFree(text);
    EtwListingColumnsFree(text);
    EtwTextFree(&text->location);
    EtwTextFree(&text->cell);
    EtwFree(text);
}

const EtwSinkOps etwSinkText = {.init = textInit,
        .begin = EtwListingBegin,
        .event = textEvent,
        .end = EtwListingEnd,
        .warning = EtwListingWarning,
        .free = textFree};

uint64_t EtwSinkCutLines(const EtwSink *sink)
{
    return sink->ops == &etwSinkText ? ((const ListingSink *)sink->own)->cut : 0;
}
