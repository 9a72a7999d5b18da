/*
 * schema/kernel/kernel_maps.c --
 *
 *	Names of values in the events of Windows' kernel, as in its public headers and the
 *	documentation of the events. Layouts are in kernel_tables.c and kernel_extra_rows.c.
 */
#include "schema/kernel/kernel_tables.h"

const EtwKernelMap etwKernelMaps[] = {
        {"ProcessFlags", true, "1 PackageFullName,2 Wow64,4 Protected,8 Packaged"},
        {"ThreadState", false,
                "0 Initialized,1 Ready,2 Running,3 Standby,4 Terminated,5 Waiting,6 Transition,"
                "7 DeferredReady"},
        {"WaitMode", false, "0 KernelMode,1 UserMode"},
        {"WaitReason", false,
                "0 Executive,1 FreePage,2 PageIn,3 PoolAllocation,4 DelayExecution,5 Suspended,"
                "6 UserRequest,7 WrExecutive,8 WrFreePage,9 WrPageIn,10 WrPoolAllocation,"
                "11 WrDelayExecution,12 WrSuspended,13 WrUserRequest,14 WrEventPair,15 WrQueue,"
                "16 WrLpcReceive,17 WrLpcReply,18 WrVirtualMemory,19 WrPageOut,20 WrRendezvous,"
                "21 WrKeyedEvent,22 WrTerminated,23 WrProcessInSwap,24 WrCpuRateControl,"
                "25 WrCalloutStack,26 WrKernel,27 WrResource,28 WrPushLock,29 WrMutex,"
                "30 WrQuantumEnd,31 WrDispatchInt,32 WrPreempted,33 WrYieldExecution,"
                "34 WrFastMutex,35 WrGuardedMutex,36 WrRundown"},
        {"AdjustReason", false, "0 None,1 Unwait,2 Boost"},
        {"ReadyFlags", true, "1 InDpc,2 StackSwappedOut,4 ProcessSwappedOut"},
        {"IoPriority", false, "0 VeryLow,1 Low,2 Normal,3 High,4 Critical"},
        {"IrpFlags", true,
                "1 Nocache,2 PagingIo,4 SynchronousApi,8 AssociatedIrp,0x10 BufferedIo,"
                "0x20 DeallocateBuffer,0x40 SynchronousPagingIo,0x80 Create,0x100 Read,0x200 Write,"
                "0x400 Close,0x800 DeferIoCompletion,0x1000 ObQueryName,0x2000 HoldDeviceQueue,"
                /* a number in bits 17 to 19 */
                "0x20000 PriorityVeryLow,0x40000 PriorityLow,0x60000 PriorityNormal,"
                "0x80000 PriorityHigh,0xA0000 PriorityCritical"},
        {"MajorFunction", false,
                "0 CREATE,1 CREATE_NAMED_PIPE,2 CLOSE,3 READ,4 WRITE,5 QUERY_INFORMATION,"
                "6 SET_INFORMATION,7 QUERY_EA,8 SET_EA,9 FLUSH_BUFFERS,10 QUERY_VOLUME_INFORMATION,"
                "11 SET_VOLUME_INFORMATION,12 DIRECTORY_CONTROL,13 FILE_SYSTEM_CONTROL,"
                "14 DEVICE_CONTROL,15 INTERNAL_DEVICE_CONTROL,16 SHUTDOWN,17 LOCK_CONTROL,18 "
                "CLEANUP,"
                "19 CREATE_MAILSLOT,20 QUERY_SECURITY,21 SET_SECURITY,22 POWER,23 SYSTEM_CONTROL,"
                "24 DEVICE_CHANGE,25 QUERY_QUOTA,26 SET_QUOTA,27 PNP"},
        /* The low 24 bits; the disposition is above them. */
        {"CreateOptions", true,
                "1 DIRECTORY_FILE,2 WRITE_THROUGH,4 SEQUENTIAL_ONLY,8 NO_INTERMEDIATE_BUFFERING,"
                "0x10 SYNCHRONOUS_IO_ALERT,0x20 SYNCHRONOUS_IO_NONALERT,0x40 NON_DIRECTORY_FILE,"
                "0x80 CREATE_TREE_CONNECTION,0x100 COMPLETE_IF_OPLOCKED,0x200 NO_EA_KNOWLEDGE,"
                "0x400 OPEN_REMOTE_INSTANCE,0x800 RANDOM_ACCESS,0x1000 DELETE_ON_CLOSE,"
                "0x2000 OPEN_BY_FILE_ID,0x4000 OPEN_FOR_BACKUP_INTENT,0x8000 NO_COMPRESSION,"
                "0x10000 OPEN_REQUIRING_OPLOCK,0x20000 DISALLOW_EXCLUSIVE,"
                "0x100000 RESERVE_OPFILTER,0x200000 OPEN_REPARSE_POINT,0x400000 OPEN_NO_RECALL,"
                "0x800000 OPEN_FOR_FREE_SPACE_QUERY"},
        {"FileAttributes", true,
                "1 READONLY,2 HIDDEN,4 SYSTEM,0x10 DIRECTORY,0x20 ARCHIVE,0x40 DEVICE,0x80 NORMAL,"
                "0x100 TEMPORARY,0x200 SPARSE_FILE,0x400 REPARSE_POINT,0x800 COMPRESSED,"
                "0x1000 OFFLINE,0x2000 NOT_CONTENT_INDEXED,0x4000 ENCRYPTED"},
        {"ShareAccess", true, "1 READ,2 WRITE,4 DELETE"},
        {"VirtualFlags", true,
                "0x1000 COMMIT,0x2000 RESERVE,0x4000 DECOMMIT,0x8000 RELEASE,0x80000 RESET"},
        {"SignatureLevel", false,
                "0 Unchecked,1 Unsigned,2 Enterprise,3 Developer,4 Authenticode,5 Custom2,6 Store,"
                "7 Antimalware,8 Microsoft,9 Custom4,10 Custom5,11 DynamicCodegen,12 Windows,"
                "13 Custom7,14 WindowsTcb,15 Custom6"},
        {"SignatureType", false,
                "0 None,1 Embedded,2 Cache,3 CatalogCached,4 CatalogNotCached,5 CatalogHint,"
                "6 PackageCatalog"},
        {"LoadReason", false,
                "0 StaticDependency,1 StaticForwarderDependency,2 DynamicForwarderDependency,"
                "3 DelayloadDependency,4 DynamicLoad,5 AsImageLoad,6 AsDataLoad,7 EnclavePrimary,"
                "8 EnclaveDependency"},
        {"ProfileSource", false,
                "0 Time,1 AlignmentFixup,2 TotalIssues,3 PipelineDry,4 LoadInstructions,"
                "5 PipelineFrozen,6 BranchInstructions,7 TotalNonissues,8 DcacheMisses,"
                "9 IcacheMisses,10 CacheMisses,11 BranchMispredictions,12 StoreInstructions,"
                "13 FpInstructions,14 IntegerInstructions,19 TotalCycles,20 IcacheIssues,"
                "21 DcacheAccesses,22 MemoryBarrierCycles,23 LoadLinkedIssues"},
        /* What the CPU ran, and the priority of the thread: a number in bits 3 to 7. */
        {"SampleFlags", true,
                "1 Dpc,2 Isr,0x8 Priority1,0x10 Priority2,0x18 Priority3,0x20 Priority4,"
                "0x28 Priority5,0x30 Priority6,0x38 Priority7,0x40 Priority8,0x48 Priority9,"
                "0x50 Priority10,0x58 Priority11,0x60 Priority12,0x68 Priority13,0x70 Priority14,"
                "0x78 Priority15,0x80 Priority16,0x88 Priority17,0x90 Priority18,0x98 Priority19,"
                "0xA0 Priority20,0xA8 Priority21,0xB0 Priority22,0xB8 Priority23,0xC0 Priority24,"
                "0xC8 Priority25,0xD0 Priority26,0xD8 Priority27,0xE0 Priority28,0xE8 Priority29,"
                "0xF0 Priority30,0xF8 Priority31"},
        {"ServiceState", false,
                "1 Stopped,2 StartPending,3 StopPending,4 Running,5 ContinuePending,6 PausePending,"
                "7 Paused"},
        {"Architecture", false, "0 x86,5 ARM,6 IA64,9 AMD64,12 ARM64"},
        {"FirmwareType", false, "0 Unknown,1 BIOS,2 UEFI"},
        {0},
};
