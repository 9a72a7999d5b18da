/*
 * schema/manifest/xml_reader.h --
 *
 *	A small tree of an XML document's elements and attributes, parsed by expat: no text between
 *	elements, no namespaces (prefixes are dropped), no document types and therefore no
 *	user-defined entities. Depth and number of elements are limited.
 */
#ifndef ETW_XML_READER_H
#define ETW_XML_READER_H

#include "base/status.h"
#include <stddef.h>

typedef struct EtwElement {
    const char *name;
    const char **attributes; /* name, value, ..., NULL */
    struct EtwElement *parent, *first, *last, *next;
    int line;
} EtwElement;

typedef struct EtwXml EtwXml;

/* ETW_E_FORMAT: not well-formed, or beyond the limits; `from` names the document in the message. */
EtwStatus EtwXmlParse(
        EtwXml **xmlPtr, const char *from, const void *data, size_t size, EtwError *errPtr);
void EtwXmlFree(EtwXml *xml);
/* The outermost element. */
const EtwElement *EtwXmlRoot(const EtwXml *xml);
/* The attribute's value, "" if absent. */
const char *EtwXmlGet(const EtwElement *element, const char *attribute);
/* The first child with that name, or the next sibling with that name; NULL: none. Accepts NULL. */
const EtwElement *EtwXmlChild(const EtwElement *element, const char *name);
const EtwElement *EtwXmlNext(const EtwElement *element, const char *name);

#endif
