/*
 * tests/win/sim/sim_manifest.c --
 *
 *	The one provider that is installed on the simulated machine: its manifest, with every kind of
 *	field, maps, and names of all kinds, and the provider itself, which is registered from the start
 *	and writes one of each of its events when it is enabled or asked for its state, if the switch
 *	ETWSIM_PROVIDER is set. TdhLoadManifest adds other manifests.
 */
#include "tests/win/sim/sim_tdh.h"
#include "base/unicode.h"

#define EVENT(id, task, opcode, template)                                                          \
    "<event value='" id "' symbol='Ev" id "' version='1' level='win:Informational' task='" task    \
    "' opcode='" opcode "' keywords='Net' template='" template "' message='$(string.Event" id      \
                                                               ")'/>"

const char simManifest[] =
        "<?xml version='1.0' encoding='utf-8'?>"
        "<instrumentationManifest xmlns='http://schemas.microsoft.com/win/2004/08/events'>"
        "<instrumentation xmlns:win='http://manifests.microsoft.com/win/2004/08/windows/events' "
        "xmlns:xs='http://www.w3.org/2001/XMLSchema'><events>"
        "<provider name='Sim-Manifest-Provider' guid='{5117e7a1-0001-4c5d-9e6f-1a2b3c4d5e6f}' "
        "symbol='SIM' resourceFileName='sim.dll' messageFileName='sim.dll'>"
        "<channels><channel chid='Op' name='Sim/Operational' type='Operational' value='16'/>"
        "</channels>"
        "<levels><level name='Loud' value='17' message='$(string.Loud)'/></levels>"
        "<tasks><task name='Transfer' value='7' message='$(string.Transfer)'>"
        "<opcodes><opcode name='Retry' value='20' message='$(string.Retry)'/></opcodes></task>"
        "</tasks>"
        "<opcodes><opcode name='Probe' value='30' message='$(string.Probe)'/></opcodes>"
        "<keywords><keyword name='Net' mask='0x1' message='$(string.Net)'/>"
        "<keyword name='Disk' mask='0x10' message='$(string.Disk)'/></keywords>"
        "<maps><valueMap name='Color'><map value='1' message='$(string.Red)'/>"
        "<map value='2' message='$(string.Green)'/></valueMap>"
        "<bitMap name='Access'><map value='0x1' message='$(string.Read)'/>"
        "<map value='0x4' message='$(string.Write)'/></bitMap></maps>"
        "<templates>"
        "<template tid='Plain'>"
        "<data name='Number' inType='win:UInt32'/>"
        "<data name='Signed' inType='win:Int16'/>"
        "<data name='Wide' inType='win:UInt64' outType='win:HexInt64'/>"
        "<data name='Ratio' inType='win:Double'/>"
        "<data name='Yes' inType='win:Boolean'/>"
        "<data name='Text' inType='win:UnicodeString'/>"
        "<data name='Ansi' inType='win:AnsiString'/>"
        "<data name='Id' inType='win:GUID'/>"
        "<data name='Where' inType='win:Pointer'/>"
        "<data name='When' inType='win:FILETIME'/>"
        "<data name='Who' inType='win:SID'/>"
        "</template>"
        "<template tid='Net'>"
        "<data name='Address' inType='win:UInt32' outType='win:IPv4'/>"
        "<data name='Port' inType='win:UInt16' outType='win:Port'/>"
        "<data name='Pid' inType='win:UInt32' outType='win:PID'/>"
        "<data name='Color' inType='win:UInt32' map='Color'/>"
        "<data name='Access' inType='win:UInt32' map='Access'/>"
        "<data name='Status' inType='win:UInt32' outType='win:NTSTATUS'/>"
        "</template>"
        "<template tid='Sized'>"
        "<data name='Size' inType='win:UInt16'/>"
        "<data name='Bytes' inType='win:Binary' length='Size'/>"
        "<data name='Count' inType='win:UInt8'/>"
        "<data name='Numbers' inType='win:UInt16' count='Count'/>"
        "<data name='Three' inType='win:UInt32' count='3'/>"
        "<data name='Fixed' inType='win:UnicodeString' length='4'/>"
        "<struct name='Points' count='Count'><data name='X' inType='win:Int32'/>"
        "<data name='Y' inType='win:Int32'/></struct>"
        "</template>"
        "</templates><events>" EVENT("1", "Transfer", "win:Start", "Plain") EVENT(
                "2", "Transfer", "Retry", "Net") EVENT("3", "Transfer", "Probe",
                "Sized") "</events></provider></events></instrumentation>"
                         "<localization><resources culture='en-US'><stringTable>"
                         "<string id='Loud' value='Loud'/><string id='Transfer' value='Transfer'/>"
                         "<string id='Retry' value='Retry'/><string id='Probe' value='Probe'/>"
                         "<string id='Net' value='Net'/><string id='Disk' value='Disk'/>"
                         "<string id='Red' value='Red'/><string id='Green' value='Green'/>"
                         "<string id='Read' value='Read'/><string id='Write' value='Write'/>"
                         "<string id='Event1' value='Number %1, text %6'/>"
                         "<string id='Event2' value='To %1:%2'/><string id='Event3' value='%1 "
                         "bytes'/>"
                         "</stringTable></resources></localization></instrumentationManifest>";
const size_t simManifestSize = sizeof simManifest - 1;

/* ---- The provider --------------------------------------------------------------------------------- */

static const GUID manifestGuid = {
        0x5117e7a1, 0x0001, 0x4c5d, {0x9e, 0x6f, 0x1a, 0x2b, 0x3c, 0x4d, 0x5e, 0x6f}};
static REGHANDLE manifestHandle;
static INIT_ONCE manifestOnce = INIT_ONCE_STATIC_INIT;

static void Number(EtwText *out, uint64_t value, size_t size)
{
    EtwTextAdd(out, &value, size);
}

static void Plain(EtwText *out)
{
    static const uint8_t sid[] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0}; /* S-1-5-18 */
    const double ratio = 0.25;
    Number(out, 42, 4);
    Number(out, (uint64_t)-7, 2);
    Number(out, 0x123456789abcdef0, 8);
    EtwTextAdd(out, &ratio, sizeof ratio);
    Number(out, 1, 4);
    EtwTextToUtf16(out, "wide \xc3\xa9", 8);
    EtwTextAdd(out, "narrow", 7);
    EtwTextAdd(out, &manifestGuid, sizeof manifestGuid);
    Number(out, 0x1000, sizeof(void *));
    Number(out, 133500000000000000, 8);
    EtwTextAdd(out, sid, sizeof sid);
}

static void Net(EtwText *out)
{
    Number(out, 0x0100007f, 4);
    Number(out, 0x5000, 2); /* 80, in network order */
    Number(out, 4711, 4);
    Number(out, 2, 4);
    Number(out, 5, 4);
    Number(out, 0xc0000022, 4);
}

static void Sized(EtwText *out)
{
    static const uint8_t fixed[] = {'a', 0, 'b', 0, 'c', 0, 'd', 0};
    Number(out, 3, 2);
    EtwTextAdd(out, "\1\2\3", 3);
    Number(out, 2, 1);
    Number(out, 10 | 20 << 16, 4);
    Number(out, 100, 4);
    Number(out, 200, 4);
    Number(out, 300, 4);
    EtwTextAdd(out, fixed, sizeof fixed);
    for (uint32_t i = 1; i <= 4; i++) {
        Number(out, i, 4);
    }
}

static void WriteOne(USHORT id, UCHAR opcode, void (*fill)(EtwText *out))
{
    EVENT_DESCRIPTOR d = {
            .Id = id, .Version = 1, .Level = 4, .Opcode = opcode, .Task = 7, .Keyword = 1};
    EVENT_DATA_DESCRIPTOR data;
    EtwText out = {0};
    fill(&out);
    EventDataDescCreate(&data, out.data, (ULONG)out.size);
    EventWrite(manifestHandle, &d, 1, &data);
    EtwTextFree(&out);
}

/* Whether the installed provider runs at all: a switch, asked anew each time. */
static bool Running(void)
{
    WCHAR value[4];
    return GetEnvironmentVariableW(L"ETWSIM_PROVIDER", value, 4) != 0;
}

static VOID NTAPI OnManifestEnable(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any,
        ULONGLONG all, PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
    (void)source, (void)level, (void)any, (void)all, (void)filter, (void)context;
    if (code != EVENT_CONTROL_CODE_DISABLE_PROVIDER && Running()) {
        WriteOne(1, 1, Plain);
        WriteOne(2, 20, Net);
        WriteOne(3, 30, Sized);
    }
}

static BOOL CALLBACK ManifestInit(INIT_ONCE *unused, void *parameter, void **result)
{
    (void)unused, (void)parameter, (void)result;
    return EventRegister(&manifestGuid, OnManifestEnable, NULL, &manifestHandle) == ERROR_SUCCESS;
}

void SimManifestProvider(void)
{
    if (!Running()) {
        return;
    }
    InitOnceExecuteOnce(&manifestOnce, ManifestInit, NULL, NULL);
}
