/*
 * schema/model/text_defs.h --
 *
 *	Definitions that come as plain text: trace message formats of WPP (.tmf, schema/wpp/tmf.c) and
 *	classes of classic providers (.mof, schema/mof/mof.c). Parsing gives finished definitions and puts
 *	them nowhere: schema/store/definition_files.c does.
 */
#ifndef ETW_TEXT_DEFS_H
#define ETW_TEXT_DEFS_H

#include "schema/model/provider_def.h"

/*
 * The bytes of a text file as UTF-8: byte order marks are honoured, UTF-16LE without one is
 * recognised by its zeros.
 */
void EtwTextOfFile(EtwText *out, const uint8_t *data, size_t size);

/*
 * Trace message formats: one definition per message GUID, not classic, events by message number.
 * What a message shows:
 *
 *	provider	the component, the word behind the GUID
 *	event		FILE:LINE; where the file is not told, the function, else Message(N)
 *	symbol		the text's own name of the message (Queue_c2319)
 *	task, opcode	the trace flag and the function, NULL when not told
 *	desc.level	the level; names other than Windows' own are numbered from 16 on
 *	message		the template, style ETW_MESSAGE_WPP
 *
 * Fields are named as the traced expressions; of two of one name the later ones get their argument
 * number behind it. ETW_E_FORMAT: no message in it, or a line that cannot be (its number is in the
 * message).
 */
EtwStatus EtwTmfRead(const char *from, const void *data, size_t size, EtwDefProc *add, void *ctx,
        EtwError *errPtr);

/* The tag of a TMF's field: which argument of the template it is (from 10), and what it is when the
 * types do not say it. */
#define ETW_TMF_ARGUMENT(tag) ((tag)&0xFFFF)
typedef enum EtwTmfKind {
    ETW_TMF_PLAIN,
    ETW_TMF_LIST, /* shown as 0x00000001(NAME) */
    ETW_TMF_SET,  /* shown as [NAME,NAME] */
    ETW_TMF_MAC,
    ETW_TMF_ONE_LINE /* text whose line breaks and tabs are shown as blanks */
} EtwTmfKind;
#define ETW_TMF_KIND(tag) ((EtwTmfKind)((tag) >> 16))
#define ETW_TMF_TAG(argument, kind) ((uint32_t)(argument) | (uint32_t)(kind) << 16)

/*
 * Append the message of an event whose schema has style ETW_MESSAGE_WPP, as one line: arguments
 * (%10 is the first one) by their printf specifications, the standard ones (%1 component, %2 the
 * message's own name, %3 thread, %4 time, %5 kernel time, %6 user time, %7 sequence number,
 * %8 process, %9 CPU), and %!FUNC! %!LEVEL! %!FLAGS! %!COMPNAME! %!STDPREFIX! and their like. An
 * argument that the payload has not shows as <missing>.
 */
void EtwFormatMessageWpp(EtwText *out, const EtwSchema *schema, const EtwEvent *event);

/* The level that the message's format tells (WPP records have none); 0: none. */
uint8_t EtwMessageLevel(const EtwSchema *schema);

/*
 * Append what can be read in bytes that nobody described: runs of at least four printable ASCII
 * characters, 8- or 16-bit, each in quotes, blanks between; about `most` bytes of them. False: none.
 */
bool EtwPrintableStrings(EtwText *out, const uint8_t *data, size_t size, size_t most);

/*
 * MOF classes: one classic definition per class GUID, events by event type and version. The name is
 * the class's DisplayName, else the class's name without its version; an event is named by its
 * EventTypeName.
 */
EtwStatus EtwMofRead(const char *from, const void *data, size_t size, EtwDefProc *add, void *ctx,
        EtwError *errPtr);

#endif
