/*
 * schema/manifest/xml_reader.c --
 *
 *	Builds a tree from expat's callbacks, in one arena. Independent of the meaning of elements.
 */
#include "schema/manifest/xml_reader.h"
#include "base/arena.h"
#include "base/alloc.h"
#include <expat.h>
#include <limits.h>
#include <strings.h>
#include <stdint.h>
#include <string.h>

enum { MAX_DEPTH = 32, MAX_ELEMENTS = 1 << 20 };

struct EtwXml {
    EtwElement *root;
    EtwElement *open; /* innermost element without an end so far */
    EtwArena arena;
    XML_Parser parser;
    const char *refused; /* why parsing was stopped; NULL: it was not */
    int depth, elements;
};

static const char *keepText(EtwXml *xml, const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(EtwArenaAlloc(&xml->arena, size, 1), text, size);
}

static const char *withoutPrefix(const char *name)
{
    const char *colon = strchr(name, ':');
    return colon ? colon + 1 : name;
}

static void refuse(EtwXml *xml, const char *why)
{
    xml->refused = why;
    XML_StopParser(xml->parser, XML_FALSE);
}

/* ---- Callbacks of expat ---------------------------------------------------------------------- */

static void XMLCALL onStart(void *data, const XML_Char *name, const XML_Char **attributes)
{
    EtwXml *xml = data;
    size_t count = 0;
    if (++xml->depth > MAX_DEPTH) {
        refuse(xml, "elements are nested too deeply");
        return;
    }
    if (++xml->elements > MAX_ELEMENTS) {
        refuse(xml, "there are too many elements");
        return;
    }
    EtwElement *e = EtwArenaAlloc(&xml->arena, sizeof *e, 8);
    while (attributes[count] != NULL) {
        count++;
    }
    *e = (EtwElement){.name = keepText(xml, withoutPrefix(name)), .parent = xml->open};
    e->line = (int)XML_GetCurrentLineNumber(xml->parser);
    e->attributes = EtwArenaAlloc(&xml->arena, (count + 1) * sizeof *e->attributes, 8);
    for (size_t i = 0; i < count; i++) {
        e->attributes[i] = keepText(xml, i % 2 ? attributes[i] : withoutPrefix(attributes[i]));
    }
    e->attributes[count] = NULL;
    if (xml->open == NULL) {
        xml->root = e;
    } else if (xml->open->last != NULL) {
        xml->open->last->next = e;
    } else {
        xml->open->first = e;
    }
    if (xml->open != NULL) {
        xml->open->last = e;
    }
    xml->open = e;
}

static void XMLCALL onEnd(void *data, const XML_Char *name)
{
    EtwXml *xml = data;
    (void)name;
    xml->depth--;
    xml->open = xml->open->parent;
}

static void XMLCALL onDoctype(void *data, const XML_Char *name, const XML_Char *systemId,
        const XML_Char *publicId, int internal)
{
    (void)name, (void)systemId, (void)publicId, (void)internal;
    refuse(data, "document type declarations are not supported");
}

/*
 * The 8-bit encodings of old manifests: Windows-1252, which is also used for other encodings of
 * that family.
 */
static int XMLCALL onEncoding(void *data, const XML_Char *name, XML_Encoding *info)
{
    static const uint16_t upper[32] = {0x20AC, 0x81, 0x201A, 0x192, 0x201E, 0x2026, 0x2020, 0x2021,
            0x2C6, 0x2030, 0x160, 0x2039, 0x152, 0x8D, 0x17D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C,
            0x201D, 0x2022, 0x2013, 0x2014, 0x2DC, 0x2122, 0x161, 0x203A, 0x153, 0x9D, 0x17E,
            0x178};
    (void)data;
    if (strncasecmp(name, "windows-", 8) != 0) {
        return XML_STATUS_ERROR;
    }
    for (int i = 0; i < 256; i++) {
        info->map[i] = i >= 0x80 && i < 0xA0 ? upper[i - 0x80] : i;
    }
    return XML_STATUS_OK;
}

/* ---- Parsing --------------------------------------------------------------------------------- */

/*
 * The encoding, if the declaration may be wrong: converted manifests often declare their former
 * encoding. NULL: use the declaration.
 */
static const char *encodingOf(const uint8_t *data, size_t size)
{
    char head[120];
    size_t n = size < sizeof head - 1 ? size : sizeof head - 1;
    if (size >= 2 &&
            ((data[0] == 0xFF && data[1] == 0xFE) || (data[0] == 0xFE && data[1] == 0xFF) ||
                    (data[0] == '<' && data[1] == 0) || (data[0] == 0 && data[1] == '<'))) {
        return "UTF-16";
    }
    for (size_t i = 0; i < n; i++) {
        char c = (char)data[i];
        head[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c ? c : ' ';
    }
    head[n] = 0;
    const char *declared = strstr(head, "encoding=\"utf-16"), *end = strstr(head, "?>");
    declared = declared ? declared : strstr(head, "encoding='utf-16");
    return declared != NULL && (end == NULL || declared < end) ? "UTF-8" : NULL;
}

/* In one call, because expat scans a long token again for each further piece. */
static EtwStatus parse(
        EtwXml *xml, const char *from, const void *data, size_t size, EtwError *errPtr)
{
    if (size <= INT_MAX && XML_Parse(xml->parser, data, (int)size, XML_TRUE) == XML_STATUS_OK &&
            xml->root != NULL) {
        return ETW_OK;
    }
    const char *why = xml->refused ? xml->refused : XML_ErrorString(XML_GetErrorCode(xml->parser));
    return EtwFail(errPtr, ETW_E_FORMAT, "XML", from, "%s: line %d: %s", from,
            (int)XML_GetCurrentLineNumber(xml->parser), why ? why : "no element");
}

EtwStatus EtwXmlParse(
        EtwXml **xmlPtr, const char *from, const void *data, size_t size, EtwError *errPtr)
{
    EtwXml *xml = EtwAlloc(sizeof *xml);
    *xmlPtr = NULL;
    xml->parser = XML_ParserCreate(encodingOf(data, size));
    if (xml->parser == NULL) {
        EtwXmlFree(xml);
        return EtwFail(errPtr, ETW_E_MEMORY, "XML", from, "%s: out of memory", from);
    }
    XML_SetUserData(xml->parser, xml);
    XML_SetElementHandler(xml->parser, onStart, onEnd);
    XML_SetStartDoctypeDeclHandler(xml->parser, onDoctype);
    XML_SetUnknownEncodingHandler(xml->parser, onEncoding, NULL);
    EtwStatus status = parse(xml, from, data, size, errPtr);
    XML_ParserFree(xml->parser);
    xml->parser = NULL;
    if (status != ETW_OK) {
        EtwXmlFree(xml);
        return status;
    }
    *xmlPtr = xml;
    return ETW_OK;
}

void EtwXmlFree(EtwXml *xml)
{
    if (xml != NULL) {
        EtwArenaFree(&xml->arena);
        EtwFree(xml);
    }
}

/* ---- Queries --------------------------------------------------------------------------------- */

const EtwElement *EtwXmlRoot(const EtwXml *xml)
{
    return xml->root;
}

const char *EtwXmlGet(const EtwElement *element, const char *attribute)
{
    for (const char **a = element->attributes; *a != NULL; a += 2) {
        if (strcmp(a[0], attribute) == 0) {
            return a[1];
        }
    }
    return "";
}

const EtwElement *EtwXmlNext(const EtwElement *element, const char *name)
{
    const EtwElement *e = element->next;
    while (e != NULL && strcmp(e->name, name) != 0) {
        e = e->next;
    }
    return e;
}

const EtwElement *EtwXmlChild(const EtwElement *element, const char *name)
{
    const EtwElement *e = element ? element->first : NULL;
    return e == NULL || strcmp(e->name, name) == 0 ? e : EtwXmlNext(e, name);
}
