/*
 * schema/model/text_defs.h --
 *
 *	Definitions in plain text: trace message formats of WPP (.tmf, schema/wpp/tmf.c) and classes of
 *	classic providers (.mof, schema/mof/mof.c). The parsers return finished definitions;
 *	schema/store/definition_files.c adds them to the library.
 */
#ifndef ETW_TEXT_DEFS_H
#define ETW_TEXT_DEFS_H

#include "schema/model/provider_def.h"

/*
 * The bytes of a text file as UTF-8. Byte order marks are honoured; UTF-16LE without one is
 * recognized by its zero bytes.
 */
void EtwTextOfFile(EtwText *out, const uint8_t *data, size_t size);

/*
 * Trace message formats: one definition per message GUID, not classic, events by message number.
 * The definition of a message:
 *
 *	provider	the component, the word after the GUID
 *	event		FILE:LINE; without a file the function, otherwise Message(N)
 *	symbol		the text's own name of the message (Queue_c2319)
 *	task, opcode	the trace flag and the function, NULL when absent
 *	desc.level	the level; names other than Windows' own are numbered from 16 on
 *	message		the template, style ETW_MESSAGE_WPP
 *
 * Fields have the names of the traced expressions; the argument number is appended to repeated names.
 * ETW_E_FORMAT: no message, or a malformed line (its number is in the error message).
 */
EtwStatus EtwTmfRead(const char *from, const void *data, size_t size, EtwDefProc *add, void *ctx,
        EtwError *errPtr);

/*
 * The tag of a TMF field: the number of its argument in the template (from 10), and its kind if the
 * types do not define it.
 */
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
 * message's own name, %3 thread, %4 time, %5 kernel time, %6 user time, %7 sequence number, %8
 * process, %9 CPU), and %!FUNC! %!LEVEL! %!FLAGS! %!COMPNAME! %!STDPREFIX! etc. An argument that is
 * not in the payload is shown as <missing>.
 */
void EtwFormatMessageWpp(EtwText *out, const EtwSchema *schema, const EtwEvent *event);

/* The level in the message's format (WPP records have none); 0: none. */
uint8_t EtwMessageLevel(const EtwSchema *schema);

/*
 * Append the readable parts of bytes without a description: runs of at least four printable ASCII
 * characters, 8- or 16-bit, each in quotes, separated by blanks; about `most` bytes of them. False:
 * none.
 */
bool EtwPrintableStrings(EtwText *out, const uint8_t *data, size_t size, size_t most);

/*
 * MOF classes: one classic definition for each class GUID, events by event type and version. The
 * name is the class's DisplayName, otherwise the class's name without its version; an event is
 * named by its EventTypeName.
 */
EtwStatus EtwMofRead(const char *from, const void *data, size_t size, EtwDefProc *add, void *ctx,
        EtwError *errPtr);

#endif
