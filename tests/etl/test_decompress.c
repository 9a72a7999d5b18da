/*
 * tests/etl/test_decompress.c --
 *
 *	The three decoders of compressed buffers: the examples of [MS-XCA], streams made here
 *	token by token (so that each form of a length and of an offset occurs), every shorter
 *	room, every cut and many flipped bits.
 */
#include "tests/support/check.h"
#include "base/text.h"
#include "etl/compress/compress.h"
#include "etl/compress/decompress.h"
#include <stdlib.h>

enum { XPRESS = ETL_FORMAT_XPRESS, LZNT1 = ETL_FORMAT_LZNT1, HUFFMAN = ETL_FORMAT_HUFFMAN };

static uint64_t seed = 7;
static uint32_t Random(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

/* ---- Examples of the specification ------------------------------------------------------------ */

static void CheckDecodes(
        unsigned format, const uint8_t *in, size_t size, const char *want, size_t wantSize)
{
    uint8_t *out = EtwAlloc(wantSize + 100);
    size_t got = EtlDecoder(format)(in, size, out, wantSize);
    CHECK_MEM(out, got, want, wantSize);
    EtwFree(out);
}

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz";

static const char *HundredTimesAbc(void)
{
    static char text[301];
    for (int i = 0; i < 300; i++) {
        text[i] = "abc"[i % 3];
    }
    return text;
}

static void example_xpress(void)
{
    uint8_t letters[4 + 26] = {0x3f, 0, 0, 0};
    static const uint8_t abc[] = {
            0xff, 0xff, 0xff, 0x1f, 'a', 'b', 'c', 0x17, 0x00, 0x0f, 0xff, 0x26, 0x01};
    memcpy(letters + 4, alphabet, 26);
    CheckDecodes(XPRESS, letters, sizeof letters, alphabet, 26);
    CheckDecodes(XPRESS, abc, sizeof abc, HundredTimesAbc(), 300);
}

static void example_huffman(void)
{
    uint8_t letters[256 + 20] = {
            [0x30] = 0x50, [0x3b] = 0x45, [0x3c] = 0x44, [0x3d] = 0x04, [0x80] = 0x04};
    static const uint8_t letterBits[] = {0xd8, 0x52, 0x3e, 0xd7, 0x94, 0x11, 0x5b, 0xe9, 0x19, 0x5f,
            0xf9, 0xd6, 0x7c, 0xdf, 0x8d, 0x04, 0, 0, 0, 0};
    uint8_t abc[256 + 7] = {[0x30] = 0x30, [0x31] = 0x23, [0x80] = 0x02, [0x8f] = 0x20};
    static const uint8_t abcBits[] = {0xa8, 0xdc, 0x00, 0x00, 0xff, 0x26, 0x01};
    memset(letters + 0x31, 0x55, 10);
    memcpy(letters + 256, letterBits, sizeof letterBits);
    memcpy(abc + 256, abcBits, sizeof abcBits);
    CheckDecodes(HUFFMAN, letters, sizeof letters, alphabet, 26);
    CheckDecodes(HUFFMAN, abc, sizeof abc, HundredTimesAbc(), 300);
}

static void example_lznt1(void)
{
    static const char want[] =
            "F# F# G A A G F# E D D E F# F# E E F# F# G A A G F# E D D E F# E D D E E F# D E F# G "
            "F# D E F# G F# E D E A F# F# G A A G F# E D D E F# E D D";
    static const uint8_t in[] = {0x38, 0xb0, 0x88, 0x46, 0x23, 0x20, 0x00, 0x20, 0x47, 0x20, 0x41,
            0x00, 0x10, 0xa2, 0x47, 0x01, 0xa0, 0x45, 0x20, 0x44, 0x00, 0x08, 0x45, 0x01, 0x50,
            0x79, 0x00, 0xc0, 0x45, 0x20, 0x05, 0x24, 0x13, 0x88, 0x05, 0xb4, 0x02, 0x4a, 0x44,
            0xef, 0x03, 0x58, 0x02, 0x8c, 0x09, 0x16, 0x01, 0x48, 0x45, 0x00, 0xbe, 0x00, 0x9e,
            0x00, 0x04, 0x01, 0x18, 0x90, 0x00};
    CheckDecodes(LZNT1, in, sizeof in, want, sizeof want);
}

/* Only a complete code is decoded: each word of bits means one symbol. */
static void huffman_tables(void)
{
    /* Symbols 'a' to 'd' with these code lengths; bits 0100 0000 0000 0000 follow. */
    static const struct {
        uint8_t a, b, c, d;
        const char *want;
    } codes[] = {{1, 1, 0, 0, "abaa"}, {1, 2, 2, 0, "aba"}, {2, 2, 2, 2, "baaa"},
            {1, 2, 3, 3, "aba"}, {0, 0, 0, 0, ""}, {1, 0, 0, 0, ""}, {1, 2, 0, 0, ""},
            {1, 2, 3, 0, ""}, {2, 2, 2, 0, ""}, {1, 15, 0, 0, ""}, {1, 1, 1, 0, ""},
            {1, 1, 15, 0, ""}, {1, 2, 2, 15, ""}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        uint8_t in[256 + 4] = {0}, out[16];
        size_t wantSize = strlen(codes[i].want);
        in['a' / 2] = (uint8_t)(codes[i].a << 4);
        in['b' / 2] = (uint8_t)(codes[i].b | codes[i].c << 4);
        in['d' / 2] = codes[i].d;
        in[257] = 0x40;
        size_t got = EtlDecoder(HUFFMAN)(in, sizeof in, out, wantSize != 0 ? wantSize : 4);
        CHECK_MEM(out, got, codes[i].want, wantSize);
    }
}

/* ---- Streams of tokens ------------------------------------------------------------------------ */

typedef struct Plain {
    uint8_t *data;
    size_t size, capacity;
} Plain;

static void PlainAdd(Plain *p, size_t offset, size_t length, uint8_t literal)
{
    if (p->capacity - p->size < length) {
        p->capacity = 2 * p->capacity + length + 64;
        p->data = EtwRealloc(p->data, p->capacity);
    }
    for (size_t i = 0; i < length; i++, p->size++) {
        p->data[p->size] = offset != 0 ? p->data[p->size - offset] : literal;
    }
}

/* A length of any form, rarely a very long one. */
static size_t RandomLength(void)
{
    static const uint32_t most[] = {7, 20, 40, 300, 400, 2000, 70000};
    return 3 + Random(most[Random(100) != 0 ? Random(4) : Random(7)]);
}

static size_t RandomOffset(size_t done, size_t most)
{
    most = most < done ? most : done;
    return 1 + Random((uint32_t)(Random(3) != 0 && most > 20 ? 20 : most));
}

/* Plain LZ77: flag words, half bytes. */
typedef struct Xpress {
    EtwText out;
    size_t flagsAt, halfAt;
    int flagCount;
} Xpress;

static void XpressFlag(Xpress *x, uint32_t flag)
{
    if (x->flagCount == 32 || x->out.size == 0) {
        x->flagsAt = x->out.size;
        x->flagCount = 0;
        EtwTextAdd(&x->out, "\0\0\0\0", 4);
    }
    uint8_t *at = (uint8_t *)x->out.data + x->flagsAt;
    EtwStore32(at, EtwLoad32(at) | flag << (31 - x->flagCount++));
}

static void XpressMatch(Xpress *x, size_t offset, size_t length)
{
    uint8_t bytes[8];
    size_t rest = length - 3;
    XpressFlag(x, 1);
    EtwStore16(bytes, (uint16_t)((offset - 1) << 3 | (rest < 7 ? rest : 7)));
    EtwTextAdd(&x->out, bytes, 2);
    if (rest < 7) {
        return;
    }
    size_t half = rest - 7 < 15 ? rest - 7 : 15;
    if (x->halfAt != 0) {
        x->out.data[x->halfAt] = (char)((uint8_t)x->out.data[x->halfAt] | half << 4);
        x->halfAt = 0;
    } else {
        x->halfAt = x->out.size;
        EtwTextChar(&x->out, (char)half);
    }
    if (half < 15) {
        return;
    }
    if (rest - 22 < 255) {
        EtwTextChar(&x->out, (char)(rest - 22));
        return;
    }
    EtwTextChar(&x->out, (char)0xFF);
    EtwStore16(bytes, rest < 65536 ? (uint16_t)rest : 0);
    EtwStore32(bytes + 2, (uint32_t)rest);
    EtwTextAdd(&x->out, bytes, rest < 65536 ? 2 : 6);
}

static EtwText XpressStream(Plain *p, size_t size)
{
    Xpress x = {0};
    while (p->size < size) {
        if (p->size == 0 || Random(2)) {
            uint8_t literal = (uint8_t)Random(256);
            XpressFlag(&x, 0);
            EtwTextChar(&x.out, (char)literal);
            PlainAdd(p, 0, 1, literal);
        } else {
            size_t offset = RandomOffset(p->size, 8192), length = RandomLength();
            XpressMatch(&x, offset, length);
            PlainAdd(p, offset, length, 0);
        }
    }
    return x.out;
}

/* LZ77+Huffman with a code of 9 bits for each symbol, which is itself. */
typedef struct Huffman {
    EtwText out;
    size_t first, second; /* where the next two words belong */
    uint32_t word;
    int spare;
    size_t blockStart;
} Huffman;

static void HuffmanBlock(Huffman *h)
{
    for (int i = 0; i < 256; i++) {
        EtwTextChar(&h->out, (char)0x99);
    }
    h->first = h->out.size;
    h->second = h->first + 2;
    EtwTextAdd(&h->out, "\0\0\0\0", 4);
    h->word = 0;
    h->spare = 16;
}

static void HuffmanBits(Huffman *h, int count, uint32_t bits)
{
    if (h->spare >= count) {
        h->spare -= count;
        h->word = h->word << count | bits;
        return;
    }
    int rest = count - h->spare;
    EtwStore16(h->out.data + h->first, (uint16_t)(h->word << h->spare | bits >> rest));
    h->first = h->second;
    h->second = h->out.size;
    EtwTextAdd(&h->out, "\0\0", 2);
    h->spare += 16 - count;
    h->word = bits & ((1u << rest) - 1);
}

static void HuffmanFlush(Huffman *h)
{
    EtwStore16(h->out.data + h->first, (uint16_t)(h->word << h->spare));
    EtwStore16(h->out.data + h->second, 0);
}

static void HuffmanMatch(Huffman *h, size_t offset, size_t length)
{
    uint8_t bytes[8];
    size_t rest = length - 3;
    int bits = 31 - __builtin_clz((unsigned)offset);
    HuffmanBits(h, 9, (uint32_t)(256 + (bits << 4) + (rest < 15 ? rest : 15)));
    if (rest >= 15 && rest - 15 < 255) {
        EtwTextChar(&h->out, (char)(rest - 15));
    } else if (rest >= 15) {
        EtwTextChar(&h->out, (char)0xFF);
        EtwStore16(bytes, rest < 65536 ? (uint16_t)rest : 0);
        EtwStore32(bytes + 2, (uint32_t)rest);
        EtwTextAdd(&h->out, bytes, rest < 65536 ? 2 : 6);
    }
    HuffmanBits(h, bits, (uint32_t)offset & ((1u << bits) - 1));
}

static EtwText HuffmanStream(Plain *p, size_t size)
{
    Huffman h = {0};
    HuffmanBlock(&h);
    while (p->size < size) {
        if (p->size - h.blockStart >= 65536) {
            HuffmanFlush(&h);
            h.blockStart = p->size;
            HuffmanBlock(&h);
        }
        if (p->size == 0 || Random(2)) {
            uint8_t literal = (uint8_t)Random(256);
            HuffmanBits(&h, 9, literal);
            PlainAdd(p, 0, 1, literal);
        } else {
            size_t offset = RandomOffset(p->size, 65535), length = RandomLength();
            HuffmanMatch(&h, offset, length);
            PlainAdd(p, offset, length, 0);
        }
    }
    HuffmanFlush(&h);
    return h.out;
}

/* One chunk of LZNT1, at most 4096 bytes of plain text. */
static void Lznt1Chunk(EtwText *out, Plain *p, size_t size)
{
    size_t start = p->size, headAt = out->size, flagsAt = 0;
    int flagCount = 8;
    uint8_t bytes[2];
    EtwTextAdd(out, "\0\0", 2);
    while (p->size - start < size) {
        size_t done = p->size - start, left = size - done;
        if (flagCount == 8) {
            flagsAt = out->size;
            flagCount = 0;
            EtwTextChar(out, 0);
        }
        unsigned lengthBits = 12;
        while (done > 16u << (12 - lengthBits)) {
            lengthBits--;
        }
        if (done == 0 || left < 3 || Random(2)) {
            uint8_t literal = (uint8_t)Random(256);
            EtwTextChar(out, (char)literal);
            PlainAdd(p, 0, 1, literal);
        } else {
            size_t most = ((size_t)1 << lengthBits) + 2, length = RandomLength();
            size_t offset = RandomOffset(done, (size_t)1 << (16 - lengthBits));
            length = length < most ? length : most;
            length = length < left ? length : left;
            EtwStore16(bytes, (uint16_t)((offset - 1) << lengthBits | (length - 3)));
            EtwTextAdd(out, bytes, 2);
            out->data[flagsAt] = (char)(out->data[flagsAt] | 1 << flagCount);
            PlainAdd(p, offset, length, 0);
        }
        flagCount++;
    }
    EtwStore16(out->data + headAt, (uint16_t)(0xB000 | (out->size - headAt - 3)));
}

static EtwText Lznt1Stream(Plain *p, size_t size)
{
    EtwText out = {0};
    uint8_t bytes[2] = {0xFF, 0x3F};
    while (p->size < size) {
        size_t n = size - p->size < 4096 ? size - p->size : 4096;
        if (Random(8) == 0) { /* a chunk that is not compressed */
            size_t at = p->size;
            EtwStore16(bytes, (uint16_t)(0x3000 | (n - 1)));
            for (size_t i = 0; i < n; i++) {
                PlainAdd(p, 0, 1, (uint8_t)Random(256));
            }
            EtwTextAdd(&out, bytes, 2);
            EtwTextAdd(&out, p->data + at, n);
        } else {
            Lznt1Chunk(&out, p, n);
        }
    }
    return out;
}

static EtwText Stream(unsigned format, Plain *p, size_t size)
{
    return format == XPRESS    ? XpressStream(p, size)
           : format == HUFFMAN ? HuffmanStream(p, size)
                               : Lznt1Stream(p, size);
}

/* In blocks of their own, so that a byte too far is seen. */
static size_t Decode(
        unsigned format, const void *in, size_t size, size_t capacity, uint8_t **outPtr)
{
    uint8_t *copy = EtwRealloc(NULL, size != 0 ? size : 1);
    uint8_t *out = EtwRealloc(NULL, capacity != 0 ? capacity : 1);
    memcpy(copy, in, size);
    size_t got = EtlDecoder(format)(copy, size, out, capacity);
    EtwFree(copy);
    *outPtr = out;
    return got;
}

static void RoundTrips(unsigned format)
{
    for (int round = 0; round < 60; round++) {
        Plain p = {0};
        size_t size = round < 50 ? 1 + Random(3000) : 60000 + Random(150000);
        EtwText in = Stream(format, &p, size);
        uint8_t *out;
        size_t got = Decode(format, in.data, in.size, p.size, &out);
        CHECK_MEM(out, got, p.data, p.size);
        EtwFree(out);
        for (int i = 0; i < 40; i++) { /* the head of it */
            size_t capacity = Random((uint32_t)p.size + 1);
            got = Decode(format, in.data, in.size, capacity, &out);
            CHECK_MEM(out, got, p.data, capacity);
            EtwFree(out);
        }
        got = Decode(format, in.data, in.size, p.size + 1000, &out); /* more than there is */
        CHECK(got >= p.size && memcmp(out, p.data, p.size) == 0);
        EtwFree(out);
        EtwTextFree(&in);
        EtwFree(p.data);
    }
}

/* Cut anywhere, what was decoded is right; with flipped bits nothing is promised but an end. */
static void Damages(unsigned format)
{
    Plain p = {0};
    EtwText in = Stream(format, &p, 2500);
    uint8_t *out;
    for (size_t cut = 0; cut < in.size; cut++) {
        size_t got = Decode(format, in.data, cut, p.size, &out);
        CHECK(got <= p.size);
        if (format != HUFFMAN) { /* whose last words are read ahead */
            CHECK_MEM(out, got, p.data, got);
        }
        EtwFree(out);
    }
    for (int i = 0; i < 20000; i++) {
        size_t at = Random((uint32_t)in.size);
        char bit = (char)(1 << Random(8));
        in.data[at] ^= bit;
        CHECK(Decode(format, in.data, in.size, p.size, &out) <= p.size);
        EtwFree(out);
        if (Random(4) != 0) {
            in.data[at] ^= bit;
        }
    }
    EtwTextFree(&in);
    EtwFree(p.data);
}

static void trips_xpress(void)
{
    RoundTrips(XPRESS);
}
static void trips_huffman(void)
{
    RoundTrips(HUFFMAN);
}
static void trips_lznt1(void)
{
    RoundTrips(LZNT1);
}
static void damage_xpress(void)
{
    Damages(XPRESS);
}
static void damage_huffman(void)
{
    Damages(HUFFMAN);
}
static void damage_lznt1(void)
{
    Damages(LZNT1);
}

/* A short chunk that is not the last stands for 4096 bytes. */
static void lznt1_short_chunk(void)
{
    static const uint8_t in[] = {0x01, 0x30, 'a', 'b', 0x00, 0x30, 'c', 0, 0};
    uint8_t out[5000];
    CHECK_EQ(EtlLznt1Decode(in, sizeof in, out, sizeof out), 4097);
    CHECK(out[0] == 'a' && out[1] == 'b' && out[2] == 0 && out[4095] == 0 && out[4096] == 'c');
}

/* ---- Encoding --------------------------------------------------------------------------------- */

/* False: it became no smaller. */
static bool CheckEncodes(EtlXpress *x, const uint8_t *data, size_t size)
{
    EtwText packed = {0};
    uint8_t *out = EtwAlloc(size + 1);
    bool smaller = EtlXpressEncode(x, data, size, &packed);
    if (smaller) {
        CHECK(packed.size < size);
        CHECK(packed.size >= size / 30); /* readers refuse files that expand 32 times */
        size_t got = EtlXpressDecode((const uint8_t *)packed.data, packed.size, out, size);
        CHECK_MEM(out, got, data, size);
    }
    EtwFree(out);
    EtwTextFree(&packed);
    return smaller;
}

/* Matches of every length and offset that there can be, at the end as well. */
static void encode_tokens(void)
{
    EtlXpress *x = EtlXpressNew();
    for (int i = 0; i < 300; i++) {
        Plain plain = {0};
        EtwText stream = XpressStream(&plain, 1 + Random(i % 10 == 0 ? 100000 : 3000));
        CheckEncodes(x, plain.data, plain.size);
        EtwTextFree(&stream);
        EtwFree(plain.data);
    }
    EtlXpressFree(x);
}

/* One byte over and over: lengths at the limits of each of their forms, up to 32 bits. */
static void encode_runs(void)
{
    static const size_t sizes[] = {
            0, 1, 2, 3, 4, 10, 11, 24, 25, 26, 279, 280, 281, 65538, 65539, 65540, 200000};
    EtlXpress *x = EtlXpressNew();
    uint8_t *data = EtwAlloc(200000);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CHECK_EQ(CheckEncodes(x, data, sizes[i]), sizes[i] >= 24);
    }
    EtwFree(data);
    EtlXpressFree(x);
}

static void encode_noise(void)
{
    EtlXpress *x = EtlXpressNew();
    uint8_t data[12000];
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)Random(256);
    }
    CHECK(!CheckEncodes(x, data, sizeof data));
    memcpy(data + 8192, data, sizeof data - 8192); /* as far back as the window goes */
    CHECK(CheckEncodes(x, data, sizeof data));
    EtlXpressFree(x);
}

/* Short pieces that return between bytes that never do. */
static void encode_pieces(void)
{
    static uint8_t data[9000];
    EtlXpress *x = EtlXpressNew();
    for (size_t piece = 3; piece < 20; piece++) {
        uint32_t counter = 1;
        for (size_t i = 0; i < sizeof data; i++) {
            if (i % (piece + 4) < piece) {
                data[i] = (uint8_t)(i % (piece + 4) * 7 + 1);
            } else { /* four bytes that differ each time */
                counter += i % (piece + 4) == piece ? 0x9E3779B9u : 0;
                data[i] = (uint8_t)(counter >> 8 * (i % 4));
            }
        }
        CHECK_MSG(CheckEncodes(x, data, sizeof data), "pieces of %d bytes", (int)piece);
    }
    EtlXpressFree(x);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(example_xpress);
    CHECK_RUN(example_huffman);
    CHECK_RUN(huffman_tables);
    CHECK_RUN(example_lznt1);
    CHECK_RUN(trips_xpress);
    CHECK_RUN(trips_huffman);
    CHECK_RUN(trips_lznt1);
    CHECK_RUN(damage_xpress);
    CHECK_RUN(damage_huffman);
    CHECK_RUN(damage_lznt1);
    CHECK_RUN(lznt1_short_chunk);
    CHECK_RUN(encode_tokens);
    CHECK_RUN(encode_runs);
    CHECK_RUN(encode_noise);
    CHECK_RUN(encode_pieces);
    return CHECK_DONE();
}
