/*
 * flow/track/stack_frames.c --
 *
 *	Frames of stacks (flow/track/stack_frames.h): the images are those of the track at the event,
 *	the names those of symbol/symbols.h.
 */
#include "flow/track/stack_frames.h"

static bool isKernel(const EtwEvent *event, uint64_t address)
{
    return EtwEventStackWidth(event) == 4 ? address >= 0x80000000u : address >> 63 != 0;
}

/*
 * All addresses but the innermost are where a call returns to. So is not the first one of the program, after those of the
 * kernel: it was interrupted there.
 */
static bool isReturn(const EtwEvent *event, uint32_t index, uint64_t address)
{
    return index > 0 &&
           isKernel(event, address) == isKernel(event, EtwEventStackAt(event, index - 1));
}

/* Of Windows' paths, or of Linux'. */
static const char *tailOf(const char *path, bool isLinux)
{
    const char *tail = strrchr(path, isLinux ? '/' : '\\');
    return tail != NULL && tail[1] != '\0' ? tail + 1 : path;
}

static void resolve(EtwFrameWalk *walk)
{
    const EtwTrack *track = walk->track;
    uint64_t address = EtwEventStackAt(walk->event, walk->index);
    EtwTrackModule module = {.offset = address};
    bool known = track != NULL && EtwTrackAddress(track, walk->event->pid, address, &module);
    EtwSymbolPlace place = {walk->event->pid, module.path, module.build, module.offset,
            isReturn(walk->event, walk->index, address)};
    const EtwSymbol *symbols =
            EtwSymbolsOf(track != NULL ? EtwTrackSymbols(track) : NULL, &place, &walk->count);
    const char *tail = known ? tailOf(module.path, module.path[0] == '/') : NULL;
    for (int i = 0; i < walk->count; i++) {
        walk->frames[i] = (EtwFrame){tail, symbols[i].function, symbols[i].offset, symbols[i].file,
                symbols[i].line, symbols[i].inlined};
    }
    if (walk->count == 0) {
        walk->frames[walk->count++] = (EtwFrame){.module = tail, .offset = module.offset};
    }
}

void EtwFrameWalkBegin(EtwFrameWalk *walk, const EtwTrack *track, const EtwEvent *event)
{
    walk->track = track;
    walk->event = event;
    walk->index = 0;
    walk->at = walk->count = 0;
}

const EtwFrame *EtwFrameNext(EtwFrameWalk *walk)
{
    if (walk->at == walk->count) {
        if (walk->index == walk->event->stackCount) {
            return NULL;
        }
        resolve(walk);
        walk->index++;
        walk->at = 0;
    }
    return &walk->frames[walk->at++];
}

void EtwFrameText(const EtwFrame *frame, EtwText *out)
{
    if (frame->module != NULL) {
        EtwTextStr(out, frame->module);
        EtwTextChar(out, frame->function != NULL ? '!' : '+');
    }
    if (frame->function != NULL) {
        EtwTextStr(out, frame->function);
    }
    if (frame->inlined) {
        return;
    }
    EtwTextStr(out, frame->function != NULL ? "+0x" : "0x");
    EtwTextHex(out, frame->offset, 1);
}

void EtwFrameLineText(const EtwFrame *frame, EtwText *out)
{
    if (frame->file != NULL) {
        EtwTextChar(out, ' ');
        EtwTextStr(out, tailOf(frame->file, strchr(frame->file, '/') != NULL));
        EtwTextChar(out, ':');
        EtwTextDecimal(out, frame->line);
    }
}

void EtwFrameName(const EtwFrame *frame, EtwText *out)
{
    if (frame->function != NULL && frame->module != NULL) {
        EtwTextStr(out, frame->module);
        EtwTextChar(out, '!');
    }
    if (frame->function != NULL) {
        EtwTextStr(out, frame->function);
    } else if (frame->module == NULL) {
        EtwTextStr(out, "[unknown]");
    } else if (frame->module[0] == '[') {
        EtwTextStr(out, frame->module);
    } else {
        EtwTextPrintf(out, "[%s]", frame->module);
    }
}
