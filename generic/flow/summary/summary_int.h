/*
 * flow/summary/summary_int.h --
 *
 *	Shared by the files of the summary: groups, pairs, cache.
 */
#ifndef ETW_SUMMARY_INT_H
#define ETW_SUMMARY_INT_H

#include "flow/render/sink_int.h"
#include "flow/summary/summary.h"

enum { WORDS = 8, SHORTCUTS = 4096, ROLES = 64 };

/* The parts of an event's header that its group depends on; others are 0. */
typedef struct Words {
    uint64_t words[WORDS];
} Words;

typedef struct Shortcut {
    Words words;
    EtwSummaryGroup *group; /* NULL: free */
} Shortcut;

/* A begin event without an end so far. In a table by key, newest first, and in a list by age. */
typedef struct Open {
    EtwTableNode node;
    struct Open *older, *younger;
    uint64_t who, key;
    int64_t time;
    char cells[]; /* as EtwSummaryGroup.key */
} Open;

typedef struct Summary {
    EtwSummary pub;
    EtwSchemaStore *store;
    EtwSink *sink;  /* formats columns; writes nothing */
    unsigned needs; /* inputs of a group (BY_*) */
    EtwColumn *by[ETW_SUMMARY_FIELDS], *distinct[ETW_SUMMARY_FIELDS], *pairKey[ETW_SUMMARY_FIELDS];
    EtwColumn *value, *callId;
    EtwTable groups;
    EtwTable open;
    Open *oldest, *youngest;
    struct Role {
        const EtwSchema *schema;
        int role; /* whether its events begin or end a pair (summary_pair.c) */
    } roles[ROLES];
    EtwText cell, key;
    Shortcut shortcuts[SHORTCUTS];
} Summary;

/* The event's values of the fields of `by`; missing ones are taken from its begin (may be NULL). */
void EtwSummaryKey(Summary *s, const EtwEvent *event, const EtwSchema *schema, const char *begin,
        EtwText *out);
/* Count an event in its group. ns: duration of its pair; begin: the values of its begin. */
void EtwSummaryCount(Summary *s, const EtwEvent *event, const EtwSchema *schema, const char *begin,
        const uint64_t *ns);
/* Create a group with this key, or the group of all events (summary_group.c). */
EtwSummaryGroup *EtwSummaryGroupNew(const char *key, size_t size);
void EtwSummaryGroupFree(EtwSummaryGroup *group);
/* The group of this key, created when there is none. The next call may remove it. */
EtwSummaryGroup *EtwSummaryGroupOf(Summary *s, const char *key, size_t size);
/* Remove all groups except the `keep` largest. */
void EtwSummaryGroupsTrim(Summary *s, size_t keep);
void EtwSummaryGroupsFree(Summary *s);
/* Process an event that may begin or end a pair (summary_pair.c). */
void EtwSummaryPair(Summary *s, const EtwEvent *event, const EtwSchema *schema);
/* Drop all open begin events; returns their number. */
uint64_t EtwSummaryPairsFree(Summary *s);

#endif
