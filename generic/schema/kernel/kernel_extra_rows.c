/*
 * schema/kernel/kernel_extra_rows.c --
 *
 *	Layouts that kernel_tables.c lacks: the records of a file's header (provider EventTrace),
 *	second layouts of the same version of an event, and classes of tools that merge files. Only what
 *	the generator's data cannot express: a kernel class of a new Windows is added to
 *	tools/data/kernel-events.tsv (CONTRIBUTING.md).
 */
#include "schema/kernel/kernel_tables.h"

#define ROWS(rows) rows, (int)(sizeof(rows) / sizeof(rows)[0])

/*
 * Header: TRACE_LOGFILE_HEADER. The pointers before the time zone, and its 172 bytes of names and
 * rules, are skipped.
 */
static const EtwKernelRow eventTrace[] = {
        {"0,1,2", "0 Header",
                "BufferSize:u32 MajorVersion:u8 MinorVersion:u8 SubVersion:u8 SubMinorVersion:u8 "
                "ProviderVersion:u32 NumberOfProcessors:u32 EndTime:time TimerResolution:u32 "
                "MaximumFileSize:u32 LogFileMode:x32 BuffersWritten:u32 StartBuffers:u32 "
                "PointerSize:u32 EventsLost:u32 CpuSpeedInMHz:u32 :skipptr :skipptr ZoneBias:s32 "
                ":skip172 BootTime:time PerfFreq:s64 StartTime:time ClockType:u32 BuffersLost:u32 "
                "LoggerName:wstr LogFileName:wstr"},
        {"0,1", "5 Extension,32 EndExtension", "GroupMasks:x32[8]"},
        {"2", "5 Extension,32 EndExtension", "GroupMasks:x32[8] KernelEventVersion:u32"},
        {"0,1,2", "8 RundownComplete", ""},
        {"2", "64 DbgIdRsds", "Signature:guid Age:u32 PdbName:ustr"},
        {"2", "66 BuildLab", "BuildLab:astr"},
        {"2", "67 BinaryPath", "GuidCount:u32 Guid:guid[GuidCount] BinaryPath:wstr"},
        {"0,2", "80 PartitionInfoExtension",
                "EventVersion:u16 Reserved:u16 PartitionType:u32 QpcOffsetFromRoot:s64 "
                "PartitionId:guid ParentId:guid"},
        {"2", "82 LastDroppedTimes", "TimeStampCount:u32 Padding:u32 TimeStamp:u64[*]"},
        {NULL, "33 RUNDOWN_BEGIN,48 RUNDOWN_BEGIN,49 RUNDOWN_END,65 DBGID_NB10", NULL},
};

/* Before Windows 7, the new thread's waiting time was at the position of the quantum. */
static const EtwKernelRow thread[] = {
        {"1", "36 CSwitch",
                "NewThreadId:tid OldThreadId:tid NewThreadPriority:s8 OldThreadPriority:s8 "
                "NewThreadQuantum:s8 OldThreadQuantum:s8 OldThreadWaitReason:s8;WaitReason "
                "OldThreadWaitMode:s8;WaitMode OldThreadState:s8;ThreadState "
                "OldThreadWaitIdealProcessor:s8 NewThreadWaitTime:u32"},
        {"1", "4 DCEnd", "ProcessId:pid TThreadId:tid"},
        {"3", "1 Start,2 End,3 DCStart,4 DCEnd", /* Windows 10 added a name without a new version */
                "ProcessId:pid TThreadId:tid StackBase:ptr StackLimit:ptr UserStackBase:ptr "
                "UserStackLimit:ptr Affinity:ptr Win32StartAddr:ptr TebBase:ptr SubProcessTag:u32 "
                "BasePriority:u8 PagePriority:u8 IoPriority:u8;IoPriority ThreadFlags:u8 "
                "ThreadName:wstr"},
};

/* For these versions only the layout of Load is documented; the other events have the same. */
static const EtwKernelRow image[] = {
        {"0", "2 UnLoad,3 DCStart,4 DCEnd", "BaseAddress:ptr ModuleSize:u32 ImageFileName:wstr"},
        {"1", "2 UnLoad,3 DCStart,4 DCEnd",
                "ImageBase:ptr ImageSize:ptr ProcessId:pid FileName:wstr"},
};

/* The text may be followed by padding; if it is a collection's name, nothing follows. */
static const EtwKernelRow perfInfo[] = {
        {"0,2", "34 Mark", "Message:ustr"},
};

/* A disk's properties, not documented. */
static const EtwKernelRow systemConfig[] = {
        {NULL, "19 PhyDiskEx", NULL},
};

/* Not among the documented classes. Layouts from public structures of the kernel logger. */
static const EtwKernelRow job[] = {
        {"2", "32 Create,33 Terminate,34 Open", "JobId:guid JobHandle:x32 Flags:x32 Status:nts"},
        {"2", "35 AssignProcess", "JobId:guid JobHandle:x32 UniqueProcessId:pid Status:nts"},
        {"2", "36 RemoveProcess", "JobId:guid UniqueProcessId:pid RemovalFlags:x32 ExitStatus:nts"},
        {"2", "37 Set,38 Query", "JobId:guid JobHandle:x32 InfoClass:u32"},
        {"2", "42 SendNotification", "JobId:guid NotificationId:u32"},
};

/* ---- Events of merge tools ------------------------------------------------------------------- */

static const EtwKernelRow imageId[] = {
        {"0,1,2", "0 Info",
                "ImageBase:ptr ImageSize:ptr ProcessId:pid TimeDateStamp:u32 "
                "OriginalFileName:wstr"},
        {"0,1,2", "32 None,40 DbgDeterministic", "ImageBase:ptr ProcessId:pid"},
        {"0,1,2", "34 DbgFile",
                "ImageBase:ptr ProcessId:pid Stamp1:u32 Stamp2:u32 Stamp3:u32 FileName:wstr"},
        {"0,1,2", "36 DbgIdRsds,37 DbgIdIlRsds",
                "ImageBase:ptr ProcessId:pid Signature:guid Age:u32 PdbFileName:ustr"},
        {"0,1,2", "38 DbgPortablePdb",
                "ImageBase:ptr ProcessId:pid TimeDateStamp:u32 MajorVersion:u16 MinorVersion:u16"},
        {"0,1,2", "39 DbgPdbChecksum",
                "ImageBase:ptr ProcessId:pid MajorVersion:u16 MinorVersion:u16 Signature:guid "
                "Age:u32"},
        {"0,1,2", "41 DbgPaths", "Path:wstr"},
        {"0,1,2", "41 DbgPaths", "Path:wstr MappedPath:wstr"},
        {"0,1,2", "64 FileVersion",
                "ImageSize:u32 TimeDateStamp:u32 OrigFileName:wstr FileDescription:wstr "
                "FileVersion:wstr BinFileVersion:wstr VerLanguage:wstr ProductName:wstr "
                "CompanyName:wstr ProductVersion:wstr FileId:wstr ProgramId:wstr"},
};
static const EtwKernelRow sysConfigEx[] = {
        {"0,1,2", "32 BuildInfo", "InstallDate:time BuildLab:wstr ProductName:wstr"},
        {"0,1,2", "33 SystemPaths", "SystemDirectory:wstr SystemWindowsDirectory:wstr"},
        {"0,1,2", "34 UnknownVolume", "NtPath:wstr"},
        {"0,1,2", "35 VolumeMapping", "NtPath:wstr DosPath:wstr"},
        {"0,1,2", "36 NetworkInterface", /* MIB_IF_ROW2 */
                "InterfaceLuid:x64 InterfaceIndex:u32 InterfaceGuid:guid Alias:c16[257] "
                "Description:c16[257] PhysicalAddressLength:u32 PhysicalAddress:x8[32] "
                "PermanentPhysicalAddress:x8[32] Mtu:u32 Type:u32 TunnelType:u32 MediaType:u32 "
                "PhysicalMediumType:u32 AccessType:u32 DirectionType:u32 Flags:x8 :skip3 "
                "OperStatus:u32 AdminStatus:u32 MediaConnectState:u32 NetworkGuid:guid "
                "ConnectionType:u32 :skip4 TransmitLinkSpeed:u64 ReceiveLinkSpeed:u64 InOctets:u64 "
                "InUcastPkts:u64 InNUcastPkts:u64 InDiscards:u64 InErrors:u64 InUnknownProtos:u64 "
                "InUcastOctets:u64 InMulticastOctets:u64 InBroadcastOctets:u64 OutOctets:u64 "
                "OutUcastPkts:u64 OutNUcastPkts:u64 OutDiscards:u64 OutErrors:u64 "
                "OutUcastOctets:u64 OutMulticastOctets:u64 OutBroadcastOctets:u64 OutQLen:u64"},
        {"0,1,2", "37 Values", "Value:u32[4]"},
};
/* Their blobs are TDH structures; the descriptions in them are harvested. */
static const EtwKernelRow eventMetadata[] = {
        {"0,1,2", "32 EventInfo",
                "ProviderId:guid EventId:guid Id:u16 Version:u8 Channel:u8 Level:u8 Opcode:u8 "
                "Task:u16 Keyword:x64 Info:raw"},
        {"0,1,2", "33 EventMapInfo", "ProviderId:guid Info:raw"},
};
static const EtwKernelRow winSat[] = {
        {"0,1,2", "33 WinSPR,35 Metrics,37 SystemConfig",
                "Format:u32 UncompressedSize:u32 Data:raw"},
};
static const EtwKernelRow perfTrack[] = {
        {"0,1,2", "33 Manifest", "UncompressedSize:u32 Data:raw"},
        {NULL, "34 Names", NULL},
};
static const EtwKernelRow counters[] = {
        {NULL, "32 CounterList,34 Samples", NULL},
};

const EtwKernelClass etwKernelRows[] = {
        {"EventTrace", "68fdd900-4a3e-11d1-84f4-0000f80464e3", ROWS(eventTrace)},
        {"Thread", "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c", ROWS(thread)},
        {"Image", "2cb15d1d-5fc1-11d2-abe1-00a0c911f518", ROWS(image)},
        {"PerfInfo", "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc", ROWS(perfInfo)},
        {"SystemConfig", "01853a65-418f-4f36-aefc-dc0f1d2fd235", ROWS(systemConfig)},
        {"Job", "3282fc76-feed-498e-8aa7-e70f459d430e", ROWS(job)},
        {"ImageID", "b3e675d7-2554-4f18-830b-2762732560de", ROWS(imageId)},
        {"SysConfigEx", "9b79ee91-b5fd-41c0-a243-4248e266e9d0", ROWS(sysConfigEx)},
        {"EventMetadata", "bbccf6c1-6cd1-48c4-80ff-839482e37671", ROWS(eventMetadata)},
        {"WinSAT", "ed54dff8-c409-4cf6-bf83-05e1e61a09c4", ROWS(winSat)},
        {"PerfTrack", "bf6ef1cb-89b5-0490-80ac-b180cfbcff0f", ROWS(perfTrack)},
        {"PerformanceCounters", "933f3bb3-943e-490d-9ced-3cbb14c14479", ROWS(counters)},
        {0},
};
