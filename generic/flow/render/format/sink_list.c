/*
 * flow/render/format/sink_list.c --
 *
 *	One Tcl dict per line, with the keys and values of `etw consume`.
 */
#include "flow/render/sink_int.h"
#include "schema/model/tcl_list.h"

static void addHeader(EtwText *out, const char *key, const char *text, size_t size, bool number)
{
    EtwTextStr(out, key);
    EtwTextChar(out, ' ');
    if (number) {
        EtwTextAdd(out, text, size);
    } else {
        EtwListElement(out, text, size);
    }
    EtwTextChar(out, ' ');
}

static void addStack(EtwText *out, const EtwEvent *event)
{
    ETW_ADD(out, " stack ");
    size_t from = out->size;
    for (uint32_t i = 0; i < event->stackCount; i++) {
        if (i > 0) {
            EtwTextChar(out, ' ');
        }
        EtwAddDecimal(out, EtwEventStackAt(event, i));
    }
    EtwListNest(out, from);
}

static void addFrames(EtwSink *sink, const EtwEvent *event, EtwText *out)
{
    ETW_ADD(out, " frames ");
    size_t from = out->size;
    EtwFrameWalk walk;
    EtwFrameWalkBegin(&walk, sink->track, event);
    for (const EtwFrame *frame; (frame = EtwFrameNext(&walk)) != NULL;) {
        if (out->size > from) {
            EtwTextChar(out, ' ');
        }
        sink->scratch2.size = 0;
        EtwFrameText(frame, &sink->scratch2);
        EtwListElement(out, sink->scratch2.data, sink->scratch2.size);
    }
    EtwListNest(out, from);
}

static void listEvent(EtwSink *sink, const EtwEvent *event, const EtwSchema *schema, EtwText *out)
{
    EtwSinkHeader(sink, event, schema, out, addHeader);
    if (EtwSinkMessage(sink, event, schema)) {
        addHeader(out, "message", sink->message.data, sink->message.size, false);
    }
    ETW_ADD(out, "props ");
    EtwStatus status = EtwListProps(out, schema, event);
    if (event->stack != NULL && event->stackCount > 0) {
        addStack(out, event);
        if (sink->config.stacks) {
            addFrames(sink, event, out);
        }
    }
    if (status != ETW_OK) {
        ETW_ADD(out, " error {" ETW_TOO_SHORT "}");
    }
    if (event->late) {
        ETW_ADD(out, " late 1");
    }
    EtwTextChar(out, '\n');
}

const EtwSinkOps etwSinkList = {.event = listEvent};
