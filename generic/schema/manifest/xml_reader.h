/*
 * schema/manifest/xml_reader.h --
 *
 *	A small tree of an XML document's elements and attributes, read by expat: no text between the
 *	elements, no namespaces (prefixes are dropped), no document types and so no entities of the
 *	document's own. Depth and number of elements are limited.
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

/* ETW_E_FORMAT: not well-formed, or beyond the limits; `from` is what the message calls it. */
EtwStatus EtwXmlParse(
        EtwXml **xmlPtr, const char *from, const void *data, size_t size, EtwError *errPtr);
void EtwXmlFree(EtwXml *xml);
/* The outermost element. */
const EtwElement *EtwXmlRoot(const EtwXml *xml);
/* The attribute's value, "" when there is none. */
const char *EtwXmlGet(const EtwElement *element, const char *attribute);
/* The first child of that name, or the next sibling of that name; NULL: none. Of NULL: NULL. */
const EtwElement *EtwXmlChild(const EtwElement *element, const char *name);
const EtwElement *EtwXmlNext(const EtwElement *element, const char *name);

#endif
