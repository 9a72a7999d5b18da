/*
 * etl/kernel_class_guids.c --
 *
 *	The class GUIDs of Windows' kernel records, by the group in their hook id. schema/kernel
 *	describes their payloads.
 */
#include "etl/record.h"

/* A GUID as printed: 32-16-16-16-48 bits; Data1..3 are little-endian in memory. */
#define GUID(a, b, c, d, e) GUID_BYTES(a, b, c, d, (uint64_t)(e))
#define GUID_BYTES(a, b, c, d, e)                                                                  \
    {                                                                                              \
        {                                                                                          \
            (uint8_t)(a), (uint8_t)((a) >> 8), (uint8_t)((a) >> 16), (uint8_t)((a) >> 24),         \
                    (uint8_t)(b), (uint8_t)((b) >> 8), (uint8_t)(c), (uint8_t)((c) >> 8),          \
                    (uint8_t)((d) >> 8), (uint8_t)(d), (uint8_t)((e) >> 40), (uint8_t)((e) >> 32), \
                    (uint8_t)((e) >> 24), (uint8_t)((e) >> 16), (uint8_t)((e) >> 8), (uint8_t)(e)  \
        }                                                                                          \
    }

enum { GROUP_PROCESS = 0x03, GROUP_IMAGE = 0x14, OPCODE_LOAD = 10 };

static const EtwGuid groupGuids[] = {
        [0x00] = GUID(0x68fdd900u, 0x4a3e, 0x11d1, 0x84f4, 0x0000f80464e3u), /* EventTrace */
        [0x01] = GUID(0x3d6fa8d4u, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7cu), /* DiskIo */
        [0x02] = GUID(0x3d6fa8d3u, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7cu), /* PageFault */
        [0x03] = GUID(0x3d6fa8d0u, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7cu), /* Process */
        [0x04] = GUID(0x90cbdc39u, 0x4a3e, 0x11d1, 0x84f4, 0x0000f80464e3u), /* FileIo */
        [0x05] = GUID(0x3d6fa8d1u, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7cu), /* Thread */
        [0x06] = GUID(0x9a280ac0u, 0xc8e0, 0x11d1, 0x84e2, 0x00c04fb998a2u), /* TcpIp */
        [0x07] = GUID(0x3282fc76u, 0xfeed, 0x498e, 0x8aa7, 0xe70f459d430eu), /* Job */
        [0x08] = GUID(0xbf3a50c5u, 0xa9c9, 0x4988, 0xa005, 0x2df0b7c80f80u), /* UdpIp */
        [0x09] = GUID(0xae53722eu, 0xc863, 0x11d2, 0x8659, 0x00c04fa321a1u), /* Registry */
        [0x0a] = GUID(0x13976d09u, 0xa327, 0x438c, 0x950b, 0x7f03192815c7u), /* DbgPrint */
        [0x0b] = GUID(0x01853a65u, 0x418f, 0x4f36, 0xaefc, 0xdc0f1d2fd235u), /* Config */
        [0x0c] = GUID(0x99134383u, 0x5248, 0x43fc, 0x834b, 0x529454e75df3u), /* spare */
        [0x0d] = GUID(0x42695762u, 0xea50, 0x497a, 0x9068, 0x5cbbb35e0b95u), /* Wnf */
        [0x0e] = GUID(0x0268a8b6u, 0x74fd, 0x4302, 0x9dd0, 0x6e8f1795c0cfu), /* Pool */
        [0x0f] = GUID(0xce1dbfb4u, 0x137e, 0x4da6, 0x87b0, 0x3f59aa102cbcu), /* PerfInfo */
        [0x10] = GUID(0x222962abu, 0x6180, 0x4b88, 0xa825, 0x346b75f2a24au), /* Heap */
        [0x11] = GUID(0x89497f50u, 0xeffe, 0x4440, 0x8cf2, 0xce6b1cdcaca7u), /* Object */
        [0x12] = GUID(0xe43445e0u, 0x0903, 0x48c3, 0xb878, 0xff0fccebdd04u), /* Power */
        [0x13] = GUID(0xa9152f00u, 0x3f58, 0x4bee, 0x92a1, 0x70c7d079d5ddu), /* ModBound */
        [0x14] = GUID(0x2cb15d1du, 0x5fc1, 0x11d2, 0xabe1, 0x00a0c911f518u), /* Image */
        [0x15] = GUID(0xb2d14872u, 0x7c5b, 0x463d, 0x8419, 0xee9bf7d23e04u), /* Dpc */
        [0x16] = GUID(0x7687a439u, 0xf752, 0x45b8, 0xb741, 0x321aec0f8df9u), /* Cc */
        [0x17] = GUID(0x3ac66736u, 0xcc59, 0x4cff, 0x8115, 0x8df50e39816bu), /* CritSec */
        [0x18] = GUID(0xdef2fe46u, 0x7bd6, 0x4b80, 0xbd94, 0xf57fe20d0ce3u), /* StackWalk */
        [0x19] = GUID(0x9aec974bu, 0x5b8e, 0x4118, 0x9b92, 0x3186d8002ce5u), /* Ums */
        [0x1a] = GUID(0x45d8cccdu, 0x539f, 0x4b72, 0xa8b7, 0x5c683142609au), /* Alpc */
        [0x1b] = GUID(0xd837ca92u, 0x12b9, 0x44a5, 0xad6a, 0x3a65b3578aa8u), /* SplitIo */
        [0x1c] = GUID(0xc861d0e2u, 0xa2c1, 0x4d36, 0x9f9c, 0x970bab943a12u), /* ThreadPool */
        [0x1d] = GUID(0x7f2a405cu, 0x69b5, 0x4bf9, 0xa1f5, 0x30e8f1afab5eu), /* Hypervisor */
        [0x1e] = GUID(0x2ce9a149u, 0xeffe, 0x42f0, 0xa635, 0xa1d39e26c8f2u)  /* HypervisorX */
};

const EtwGuid *EtlGroupGuid(uint16_t hook)
{
    static const EtwGuid none;
    unsigned group = hook >> 8;
    if (group == GROUP_PROCESS && (hook & 0xFF) == OPCODE_LOAD) {
        group = GROUP_IMAGE; /* this event has the hook id of an older class */
    }
    return group < sizeof groupGuids / sizeof *groupGuids ? &groupGuids[group] : &none;
}
