/*
 * tcl/timeline/timeline_cmd_int.h --
 *
 *	Shared by the files of `etw timeline`: a timeline by its name, and reading into it.
 */
#ifndef ETW_TIMELINE_CMD_INT_H
#define ETW_TIMELINE_CMD_INT_H

#include "tcl/consume/read_command.h"
#include "flow/timeline/timeline.h"

/* A search that is under way, or that goes on with what a live session brings. */
typedef struct EtwTimelineSearch {
    bool wanted;
    bool reading;   /* query is open: files are read a second time */
    EtwQuery query; /* the timeline's own, from the beginning */
    EtwWhere where;
    EtwEventMaker *maker; /* for Tcl's part of it; NULL: none */
    uint32_t tested;      /* events, of those of the timeline */
    uint32_t since;       /* the first one that could be tested */
} EtwTimelineSearch;

/* The last events of a live session, whose payloads cannot be read a second time. */
enum { ETW_TIMELINE_KEPT = 10000 };

typedef struct EtwTclTimeline {
    EtwInterp *ctx;
    EtwTimeline *timeline;
    Tcl_Obj *sources;        /* list */
    EtwQueryOptions options; /* their objects are referred to */
    EtwQuery query;
    bool reading; /* query is open */
    bool live, idle;
    bool busy; /* a script that -where runs must not change what is being read */
    uint64_t lost;
    Tcl_Obj *warnings; /* NULL: it is being read */
    EtwTimelineSearch search;
    Tcl_Obj **texts; /* of the timeline, as far as they were asked for */
    uint32_t textCapacity;
    Tcl_Obj **kept; /* live: ring of ETW_TIMELINE_KEPT event dicts */
} EtwTclTimeline;

/* NULL: there is none of that name, error left. */
EtwTclTimeline *EtwFindTimeline(EtwInterp *ctx, Tcl_Obj *name);
Tcl_Obj *EtwTimelineTextObj(EtwTclTimeline *t, uint32_t text);

/* ---- timeline_read.c ---------------------------------------------------------------------------- */

int EtwTimelineOpen(EtwTclTimeline *t);
/* Read for at most `ms` milliseconds; 0: until there are no more events now. */
int EtwTimelineRead(EtwTclTimeline *t, int ms);
void EtwTimelineClose(EtwTclTimeline *t);
/* Begin a search; "" ends it and forgets what it found. */
int EtwTimelineSearchFor(EtwTclTimeline *t, Tcl_Obj *where);
int EtwTimelineSearchOn(EtwTclTimeline *t, int ms);
void EtwTimelineSearchEnd(EtwTclTimeline *t);
/* The dicts of count events from that one on, a list; NULL: error left. */
Tcl_Obj *EtwTimelineEvents(EtwTclTimeline *t, uint32_t first, uint32_t count);

/* ---- timeline_show.c: sub-commands that ask what is there ------------------------------------------- */

Tcl_ObjCmdProc EtwTimelineAtCmd, EtwTimelineBoxesCmd, EtwTimelineLanesCmd, EtwTimelineRowsCmd;
Tcl_ObjCmdProc EtwTimelineTotalsCmd;

#endif
