/*
 * tcl/timeline/timeline_cmd_int.h --
 *
 *	Shared by the files of `etw timeline`: the structure of a timeline, reading, searching.
 */
#ifndef ETW_TIMELINE_CMD_INT_H
#define ETW_TIMELINE_CMD_INT_H

#include "tcl/consume/read_command.h"
#include "flow/timeline/timeline.h"

/* A search, which continues while a live session delivers events. */
typedef struct EtwTimelineSearch {
    bool wanted;
    bool reading;   /* query is open: files are read a second time */
    EtwQuery query; /* a separate query, from the beginning */
    EtwWhere where;
    Tcl_Obj *pattern;     /* of a search for a text, otherwise NULL; a reference */
    EtwEventMaker *maker; /* for Tcl's part of the condition, or for a text; NULL: none */
    uint32_t tested;      /* number of the timeline's events tested */
    uint32_t since;       /* the first event that could be tested */
} EtwTimelineSearch;

/*
 * Number of a live session's last events whose dicts are kept, because payloads cannot be read a
 * second time.
 */
enum { ETW_TIMELINE_KEPT = 10000 };

typedef struct EtwTclTimeline {
    EtwInterp *ctx;
    EtwTimeline *timeline;
    Tcl_Obj *sources;        /* list */
    EtwQueryOptions options; /* with references to their objects */
    EtwQuery query;
    bool reading; /* query is open */
    bool live, idle;
    bool busy; /* a script that -where runs must not change a timeline that is being read */
    uint64_t lost;
    Tcl_Obj *warnings; /* NULL: not yet complete */
    EtwTimelineSearch search;
    Tcl_Obj **texts; /* objects of the timeline's texts, created on demand */
    uint32_t textCapacity;
    Tcl_Obj **kept; /* live: ring of ETW_TIMELINE_KEPT event dicts */
} EtwTclTimeline;

/* NULL: not found, error left. */
EtwTclTimeline *EtwFindTimeline(EtwInterp *ctx, Tcl_Obj *name);
Tcl_Obj *EtwTimelineTextObj(EtwTclTimeline *t, uint32_t text);

/* ---- timeline_read.c ---------------------------------------------------------------------------- */

int EtwTimelineOpen(EtwTclTimeline *t);
/* Read for at most `ms` milliseconds; 0: until there are currently no more events. */
int EtwTimelineRead(EtwTclTimeline *t, int ms);
void EtwTimelineClose(EtwTclTimeline *t);
/*
 * Begin a search for events that pass an expression, or that contain a text; "" ends the search and
 * discards its matches.
 */
int EtwTimelineSearchFor(EtwTclTimeline *t, Tcl_Obj *where);
int EtwTimelineSearchText(EtwTclTimeline *t, Tcl_Obj *text);
int EtwTimelineSearchOn(EtwTclTimeline *t, int ms);
void EtwTimelineSearchEnd(EtwTclTimeline *t);
/* A list of the dicts of `count` events beginning with `first`; NULL: error left. */
Tcl_Obj *EtwTimelineEvents(EtwTclTimeline *t, uint32_t first, uint32_t count);

/* ---- timeline_show.c: sub-commands that query the contents ------------------------------------------ */

Tcl_ObjCmdProc EtwTimelineAtCmd, EtwTimelineBoxesCmd, EtwTimelineLanesCmd, EtwTimelineRowsCmd;
Tcl_ObjCmdProc EtwTimelineTotalsCmd;

#endif
