/*
 * schema/kernel/kernel_tables.c --
 *
 *	Made by tools/gen-kernel-schemas.tcl from tools/data; do not edit. Layouts of the events of
 *	Windows' kernel: per class, versions, opcodes with their names, fields in wire order.
 */
#include "schema/kernel/kernel_tables.h"

/* clang-format off */
static const EtwKernelRow AlpcRows[] = {
    {"2", "33 ALPC-Send-Message,34 ALPC-Receive-Message,35 ALPC-Wait-For-Reply",
        "MessageID:u32"},
    {"2", "36 ALPC-Wait-For-New-Message",
        "IsServerPort:u32 PortName:wstr"},
    {"2", "37 ALPC-Unwait",
        "Status:nts"},
    {NULL, "38 ALPC_CONNECT_REQUEST, 39 ALPC_CONNECT_SUCCESS, 40 ALPC_CONNECT_FAIL, 41 "
        "ALPC_CLOSE_PORT", NULL},
};
static const EtwKernelRow CcRows[] = {
    {NULL, "0 CC_WORKITEM_ENQUEUE, 1 CC_WORKITEM_DEQUEUE, 2 CC_WORKITEM_COMPLETE, 3 CC_READ_AHEAD, "
        "4 CC_WRITE_BEHIND, 5 CC_LAZY_WRITE_SCAN, 6 CC_CAN_I_WRITE_FAIL, 9 CC_FLUSH_CACHE, 10 "
        "CC_FLUSH_SECTION, 11 CC_READ_AHEAD_PREFETCH, 12 CC_SCHEDULE_READ_AHEAD, 13 "
        "CC_LOGGED_STREAM_INFO, 14 CC_EXTRA_WRITEBEHIND_THREAD", NULL},
};
static const EtwKernelRow CritSecRows[] = {
    {"0", "34 Collision",
        "LockCount:u32 SpinCount:u32 OwningThread:size CritSecAddr:ptr"},
    {"0", "35 Initialize",
        "SpinCount:ptr CritSecAddr:ptr"},
    {NULL, "32 CRITSEC_ENTER, 33 CRITSEC_LEAVE", NULL},
};
static const EtwKernelRow DbgPrintRows[] = {
    {"2", "32 DebugPrint",
        "Component:u32 Level:u32 Message:astr"},
};
static const EtwKernelRow DiskIoRows[] = {
    {"0", "10 Read,11 Write",
        "DiskNumber:u32 IrpFlags:u32;IrpFlags TransferSize:u32 Reserved:u32 ByteOffset:u64 "
        "FileObject:ptr"},
    {"1", "10 Read,11 Write",
        "DiskNumber:u32 IrpFlags:u32;IrpFlags TransferSize:u32 ResponseTime:u32 ByteOffset:u64 "
        "FileObject:ptr HighResResponseTime:u64"},
    {"2", "10 Read,11 Write",
        "DiskNumber:u32 IrpFlags:u32;IrpFlags TransferSize:u32 Reserved:u32 ByteOffset:u64 "
        "FileObject:ptr Irp:ptr HighResResponseTime:u64"},
    {"3", "10 Read,11 Write,55 OpticalRead,56 OpticalWrite",
        "DiskNumber:u32 IrpFlags:u32;IrpFlags TransferSize:u32 Reserved:u32 ByteOffset:u64 "
        "FileObject:ptr Irp:ptr HighResResponseTime:u64 IssuingThreadId:tid"},
    {"2", "12 ReadInit,13 WriteInit,15 FlushInit",
        "Irp:ptr"},
    {"3", "12 ReadInit,13 WriteInit,15 FlushInit,58 OpticalReadInit,59 OpticalWriteInit,60 "
        "OpticalFlushInit",
        "Irp:ptr IssuingThreadId:tid"},
    {"2", "14 FlushBuffers",
        "DiskNumber:u32 IrpFlags:u32;IrpFlags HighResResponseTime:u64 Irp:ptr"},
    {"3", "14 FlushBuffers,57 OpticalFlushBuffers",
        "DiskNumber:u32 IrpFlags:u32;IrpFlags HighResResponseTime:u64 Irp:ptr "
        "IssuingThreadId:tid"},
    {"1", "34 DrvMjFnCall",
        "UniqMatchId:u32 RoutineAddr:code Irp:ptr MajorFunction:u32;MajorFunction "
        "MinorFunction:u32 FileObject:ptr"},
    {"2", "34 DrvMjFnCall",
        "MajorFunction:u32;MajorFunction MinorFunction:u32 RoutineAddr:code FileObject:ptr "
        "Irp:ptr UniqMatchId:u32"},
    {"1", "35 DrvMjFnRet",
        "UniqMatchId:u32 Irp:ptr"},
    {"2", "35 DrvMjFnRet,53 DrvComplReqRet",
        "Irp:ptr UniqMatchId:u32"},
    {"2", "37 DrvComplRout",
        "Routine:code IrpPtr:ptr UniqMatchId:u32"},
    {"1,2", "52 DrvComplReq",
        "RoutineAddr:code Irp:ptr UniqMatchId:u32"},
    {"1", "53 DrvComplReqRet",
        "Irp:ptr UniqMatchId:u32"},
    {NULL, "16 IO_REDIRECTED_INIT, 32 DRIVER_INIT, 33 DRIVER_INIT_COMPLETE, 36 "
        "DRIVER_COMPLETIONROUTINE_CALL, 38 DRIVER_ADD_DEVICE_CALL, 39 DRIVER_ADD_DEVICE_RETURN, "
        "40 DRIVER_STARTIO_CALL, 41 DRIVER_STARTIO_RETURN, 48 PREFETCH_ACTION, 49 "
        "PREFETCH_REQUEST, 50 PREFETCH_READLIST, 51 PREFETCH_READ, 54 BOOT_PREFETCH_INFORMATION", NULL},
};
static const EtwKernelRow DpcRows[] = {
    {NULL, "", NULL},
};
static const EtwKernelRow FileIoRows[] = {
    {"0", "0 Name",
        "FileObject:ptr FileName:wstr"},
    {"1", "0 Name,32 FileCreate",
        "FileObject:ptr FileName:wstr"},
    {"2,3", "0 Name,32 FileCreate,35 FileDelete,36 FileRundown",
        "FileObject:ptr FileName:wstr"},
    {"2", "37 MapFile,38 UnmapFile,39 MapFileDCStart,40 MapFileDCEnd",
        "ViewBase:ptr FileObject:ptr MiscInfo:x64 ViewSize:size ProcessId:pid"},
    {"2", "64 Create",
        "IrpPtr:ptr TTID:size FileObject:ptr CreateOptions:u32;CreateOptions "
        "FileAttributes:u32;FileAttributes ShareAccess:u32;ShareAccess OpenPath:wstr"},
    {"3", "64 Create",
        "IrpPtr:ptr FileObject:ptr TTID:tid CreateOptions:u32;CreateOptions "
        "FileAttributes:u32;FileAttributes ShareAccess:u32;ShareAccess OpenPath:wstr"},
    {"2", "65 Cleanup,66 Close,73 Flush",
        "IrpPtr:ptr TTID:size FileObject:ptr FileKey:ptr"},
    {"3", "65 Cleanup,66 Close,73 Flush",
        "IrpPtr:ptr FileObject:ptr FileKey:ptr TTID:tid"},
    {"2", "67 Read,68 Write",
        "Offset:u64 IrpPtr:ptr TTID:size FileObject:ptr FileKey:ptr IoSize:u32 IoFlags:x32"},
    {"3", "67 Read,68 Write",
        "Offset:u64 IrpPtr:ptr FileObject:ptr FileKey:ptr TTID:tid IoSize:u32 IoFlags:x32"},
    {"2", "69 SetInfo,70 Delete,71 Rename,74 QueryInfo,75 FSControl",
        "IrpPtr:ptr TTID:size FileObject:ptr FileKey:ptr ExtraInfo:ptr InfoClass:u32"},
    {"3", "69 SetInfo,70 Delete,71 Rename,74 QueryInfo,75 FSControl",
        "IrpPtr:ptr FileObject:ptr FileKey:ptr ExtraInfo:ptr TTID:tid InfoClass:u32"},
    {"2", "72 DirEnum,77 DirNotify",
        "IrpPtr:ptr TTID:size FileObject:ptr FileKey:ptr Length:u32 InfoClass:u32 FileIndex:u32 "
        "FileName:wstr"},
    {"3", "72 DirEnum,77 DirNotify",
        "IrpPtr:ptr FileObject:ptr FileKey:ptr TTID:tid Length:u32 InfoClass:u32 FileIndex:u32 "
        "FileName:wstr"},
    {"2,3", "76 OperationEnd",
        "IrpPtr:ptr ExtraInfo:ptr NtStatus:nts"},
    {"3", "79 DletePath,80 RenamePath,81 SetLinkPath",
        "IrpPtr:ptr FileObject:ptr FileKey:ptr ExtraInfo:ptr TTID:tid InfoClass:u32 "
        "FileName:wstr"},
    {"3", "96 PreOpInit,97 PostOpInit",
        "RoutineAddr:code FileObject:ptr FileContext:ptr IrpPtr:ptr CallbackDataPtr:code "
        "MajorFunction:u32;MajorFunction"},
    {"3", "98 PreOpCompletion,99 PostOpCompletion",
        "InitialTime:u64 RoutineAddr:code FileObject:ptr FileContext:ptr IrpPtr:ptr "
        "CallbackDataPtr:code MajorFunction:u32;MajorFunction"},
    {"3", "100 PreOpFailure,101 PostOpFailure",
        "RoutineAddr:code FileObject:ptr FileContext:ptr IrpPtr:ptr CallbackDataPtr:code "
        "MajorFunction:u32;MajorFunction Status:nts"},
    {NULL, "33 FILENAME_SAME, 34 FILENAME_NULL, 78 FILE_IO_CREATE_NEW, 82 FILE_IO_SETLINK", NULL},
};
static const EtwKernelRow HeapRows[] = {
    {"0", "32 Create",
        "HeapHandle:ptr HeapFlags:x32"},
    {"0", "33 Alloc",
        "HeapHandle:ptr AllocSize:size AllocAddress:ptr SourceId:u32"},
    {"0", "34 ReAlloc",
        "HeapHandle:ptr NewAllocAddress:ptr OldAllocAddress:ptr NewAllocSize:size "
        "OldAllocSize:size SourceId:u32"},
    {"0", "35 Destroy,43 Lock,44 Unlock,45 Validate,46 Walk",
        "HeapHandle:ptr"},
    {"0", "36 Free",
        "HeapHandle:ptr FreeAddress:ptr SourceId:u32"},
    {"0", "37 Expand",
        "HeapHandle:ptr CommittedSize:size CommitAddress:ptr FreeSpace:size CommittedSpace:size "
        "ReservedSpace:size NoOfUCRs:u32"},
    {"0", "38 SnapShot",
        "HeapHandle:ptr FreeSpace:size CommittedSpace:size ReservedSpace:size HeapFlags:x32"},
    {"0", "42 Contract",
        "HeapHandle:ptr DeCommittedSize:size DeCommitAddress:ptr FreeSpace:size "
        "CommittedSpace:size ReservedSpace:size NoOfUCRs:u32"},
    {NULL, "39 HEAP_CREATE_SNAPSHOT, 40 HEAP_DESTROY_SNAPSHOT, 41 HEAP_EXTEND_SNAPSHOT, 47 "
        "HEAP_SUBSEGMENT_ALLOC, 48 HEAP_SUBSEGMENT_FREE, 49 HEAP_SUBSEGMENT_ALLOC_CACHE, 50 "
        "HEAP_SUBSEGMENT_FREE_CACHE, 51 HEAP_COMMIT, 52 HEAP_DECOMMIT, 53 HEAP_SUBSEGMENT_INIT, "
        "54 HEAP_AFFINITY_ENABLE, 56 HEAP_SUBSEGMENT_ACTIVATED, 57 HEAP_AFFINITY_ASSIGN, 58 "
        "HEAP_REUSE_THRESHOLD_ACTIVATED", NULL},
};
static const EtwKernelRow HypervisorRows[] = {
    {NULL, "", NULL},
};
static const EtwKernelRow HypervisorXRows[] = {
    {NULL, "", NULL},
};
static const EtwKernelRow ImageRows[] = {
    {"2", "2 UnLoad,3 DCStart,4 DCEnd,10 Load",
        "ImageBase:ptr ImageSize:ptr ProcessId:pid ImageChecksum:u32 TimeDateStamp:u32 "
        "Reserved0:u32 DefaultBase:ptr Reserved1:u32 Reserved2:u32 Reserved3:u32 Reserved4:u32 "
        "FileName:wstr"},
    {"3", "2 UnLoad,3 DCStart,4 DCEnd,10 Load",
        "ImageBase:ptr ImageSize:ptr ProcessId:pid ImageChecksum:u32 TimeDateStamp:u32 "
        "SignatureLevel:u8;SignatureLevel SignatureType:u8;SignatureType Reserved0:u16 "
        "DefaultBase:ptr Reserved1:u32 Reserved2:u32 Reserved3:u32 Reserved4:u32 FileName:wstr"},
    {"0", "10 Load",
        "BaseAddress:ptr ModuleSize:u32 ImageFileName:wstr"},
    {"1", "10 Load",
        "ImageBase:ptr ImageSize:ptr ProcessId:pid FileName:wstr"},
    {"2", "33 KernelBase",
        "ImageBase:ptr"},
    {"2", "34 HypercallPage",
        "HypercallPageVa:ptr"},
    {"2", "128 LoaderLockAttempt,129 LoaderLockAcquire,130 LoaderLockTriedAndFailed,131 "
        "LoaderLockWait,132 ProcessInitDone,133 CreateSectionBegin,134 CreateSectionEnd,135 "
        "MapViewBegin",
        ""},
    {"2", "144 RelocateImageBegin,145 RelocateImageEnd,146 HandleOldDescsBegin,147 "
        "HandleOldDescsEnd,148 HandleNewDescsBegin,149 HandleNewDescsEnd,150 DllMainExit",
        "BaseAddress:x64"},
    {"2", "160 FindDllByName,161 MapViewEnd,162 LoaderLockRelease,163 DllMainEnter,164 "
        "LoaderError",
        "BaseAddress:x64 ErrorOpcode:u8 Code:s8 String:wstr"},
    {"3", "165 MapViewStart,166 SnappingStart,167 SnappingEnd,168 LoadingStart,169 LoadingEnd,170 "
        "FoundKnownDll,171 AbnormalTermination,172 ModulePlaceHolder,173 ReadyToInit,174 "
        "ReadyToRun,208 ApiSetResolving,209 ApiSetHosted,210 ApiSetUnhosted,211 "
        "ApiSetUnresolved",
        "BaseAddress:x64 ErrorOpcode:u8 Code:s8 String:wstr"},
    {"3", "176 NewDllLoad,177 NewDllLoadAsData",
        "NewDllBaseAddress:ptr ParentDllBaseAddress:ptr LoadReason:u32;LoadReason FilePath:wstr"},
    {"3", "192 DllSearchPathExternal,193 DllSearchPathInternal",
        "BaseAddress:x64 ErrorOpcode:u8 Code:s8 String1:wstr String2:wstr"},
    {"3", "212 DllSearchResults",
        "LdrLoadFlags:x32 LdrSearchFlags:x32 SearchInfo:x32 LoadReason:u32;LoadReason "
        "FullDllName:wstr"},
    {"3", "213 DllPathSearchResults",
        "SearchInfo:x32 Cwd:wstr AppDir:wstr DllDir:wstr DllLoadDir:wstr"},
    {NULL, "1 IMAGE_LOAD, 32 IMAGE_RELOCATION", NULL},
};
static const EtwKernelRow JobRows[] = {
    {NULL, "32 JOB_CREATE, 33 JOB_TERMINATE, 34 JOB_OPEN, 35 JOB_ASSIGN_PROCESS, 36 "
        "JOB_REMOVE_PROCESS, 37 JOB_SET, 38 JOB_QUERY, 39 JOB_SET_FAILED, 40 JOB_QUERY_FAILED, "
        "41 JOB_SET_NOTIFICATION, 42 JOB_SEND_NOTIFICATION, 43 JOB_QUERY_VIOLATION, 44 "
        "JOB_SET_CPU_RATE, 45 JOB_SET_NET_RATE", NULL},
};
static const EtwKernelRow LastBranchRows[] = {
    {"2", "32 LbrRecord",
        "TimeStamp:u64 ProcessId:pid ThreadId:tid Options:u32 Entries:raw"},
};
static const EtwKernelRow LostEventRows[] = {
    {"0", "32 RTLostEvent,33 RTLostBuffer,34 RTLostFile",
        ""},
};
static const EtwKernelRow MMCSSRows[] = {
    {"0", "32 Start,33 Stop,36 Sleep,37 SleepResp",
        ""},
    {"0", "34 Scheduler",
        "ScheduledPID:pid ScheduledTID:tid SchedulingPriority:u32 TaskIndex:u32"},
    {"0", "35 Wakeup",
        "Reason:u32"},
};
static const EtwKernelRow ModBoundRows[] = {
    {NULL, "24 COWHEADER, 25 COWBLOB, 26 COWBLOB_CLOSED, 32 MODULEBOUND_ENT, 33 MODULEBOUND_JUMP, "
        "34 MODULEBOUND_RET, 35 MODULEBOUND_CALL, 36 MODULEBOUND_CALLRET, 37 MODULEBOUND_INT2E, "
        "38 MODULEBOUND_INT2B, 39 MODULEBOUND_FULLTRACE", NULL},
};
static const EtwKernelRow ObjectRows[] = {
    {"2", "32 CreateHandle,33 CloseHandle",
        "Object:ptr Handle:u32 ObjectType:u16 ObjectName:wstr"},
    {"3", "34 DuplicateHandle",
        "Object:ptr SourceHandle:u32 TargetHandle:u32 TargetProcessId:pid ObjectType:u16"},
    {"2", "36 TypeDCStart,37 TypeDCEnd",
        "ObjectType:u16 Reserved:u16 TypeName:wstr"},
    {"2", "38 HandleDCStart,39 HandleDCEnd",
        "Object:ptr ProcessId:pid Handle:u32 ObjectType:u16 ObjectName:wstr"},
    {"2", "48 CreateObject,49 DeleteObject",
        "Object:ptr ObjectType:u16"},
    {"2", "50 ReferenceObject,51 DereferenceObject",
        "Object:ptr Tag:c8[4] Count:u32"},
};
static const EtwKernelRow PageFaultRows[] = {
    {"2", "10 TransitionFault,11 DemandZeroFault,12 CopyOnWrite,13 GuardPageFault,14 "
        "HardPageFault,15 AccessViolation",
        "VirtualAddress:ptr ProgramCounter:code"},
    {"2", "32 HardFault",
        "InitialTime:u64 ReadOffset:u64 VirtualAddress:ptr FileObject:ptr TThreadId:tid "
        "ByteCount:u32"},
    {"2", "98 VirtualAlloc,99 VirtualFree",
        "BaseAddress:ptr RegionSize:size ProcessId:pid Flags:u32;VirtualFlags"},
    {"2", "100 HRRundown",
        "HeapHandle:ptr HRFlags:x32 HRPid:pid HRRangeCount:u32"},
    {"3", "100 HRRundown",
        "HeapHandle:ptr HRFlags:x32 HRPid:pid HRRangeCount:u32 Reserved:u32"},
    {"4", "100 HRRundown",
        "HeapHandle:ptr HRFlags:x32 HRPid:pid HRRangeCount:u32 HRHeapTag:u64"},
    {"2", "101 HRCreate",
        "HeapHandle:ptr FirstRangeSize:size HRCreateFlags:x32"},
    {"2", "102 HRReserve,103 HRRelease",
        "HeapHandle:ptr HRAddress:ptr HRSize:size"},
    {"2", "104 HRDestroy",
        "HeapHandle:ptr"},
    {"2", "105 ImageLoadBacked",
        "FileObject:ptr DeviceChar:x32 FileChar:x16 LoadFlags:u16"},
    {"2", "127 VirtualRotate,134 MemResetInfo",
        "BaseAddress:ptr SizeInBytes:size Flags:u32;VirtualFlags"},
    {"2", "128 VirtualAllocDCStart,129 VirtualAllocDCEnd",
        "BaseAddress:ptr RegionSize:size ProcessId:pid Flags:u32;VirtualFlags "
        "CommitSizeInBytes:size"},
    {NULL, "33 REMOVEPAGEBYCOLOR, 34 REMOVEPAGEFROMLIST, 35 PAGEINMEMORY, 36 INSERTINFREELIST, 37 "
        "INSERTINMODIFIEDLIST, 38 INSERTINLIST, 40 INSERTATFRONT, 41 UNLINKFROMSTANDBY, 42 "
        "UNLINKFFREEORZERO, 43 WORKINGSETMANAGER, 44 TRIMPROCESS, 46 ZEROSHARECOUNT, 60 "
        "WSINFOPROCESS, 69 FAULTADDR_WITH_IP, 70 TRIMSESSION, 71 MEMORYSNAPLITE, 72 "
        "PFMAPPED_SECTION_RUNDOWN, 73 PFMAPPED_SECTION_CREATE, 74 WSINFOSESSION, 75 "
        "CREATE_SESSION, 76 SESSION_RUNDOWN_DC_END, 77 SESSION_RUNDOWN_DC_START, 78 "
        "SESSION_DELETE, 79 PFMAPPED_SECTION_DELETE, 112 MEMINFO, 113 CONTMEM_GENERATE, 114 "
        "FILE_STORE_FAULT, 115 INMEMORY_STORE_FAULT, 116 COMPRESSED_PAGE, 117 "
        "PAGEINMEMORY_ACTIVE, 118 PAGE_ACCESS, 119 PAGE_RELEASE, 120 PAGE_RANGE_ACCESS, 121 "
        "PAGE_RANGE_RELEASE, 122 PAGE_COMBINE, 123 KERNEL_MEMUSAGE, 124 MM_STATS, 125 "
        "MEMINFOEX_WS, 126 MEMINFOEX_SESSIONWS, 130 PAGE_ACCESS_EX, 131 REMOVEFROMWS, 132 "
        "WSSHAREABLE_RUNDOWN, 133 INMEMORYACTIVE_RUNDOWN, 135 PFMAPPED_SECTION_OBJECT_CREATE, "
        "136 PFMAPPED_SECTION_OBJECT_DELETE", NULL},
};
static const EtwKernelRow PerfInfoRows[] = {
    {"0", "34 Mark",
        "Message:astr Padding:c16[1]"},
    {"1", "46 SampleProf",
        "InstructionPointer:code ThreadId:tid Count:u16"},
    {"2", "46 SampleProf",
        "InstructionPointer:code ThreadId:tid Count:u16 Reserved:u16;SampleFlags"},
    {"2", "47 PmcCounterProf",
        "InstructionPointer:code ThreadId:tid ProfileSource:u16;ProfileSource Reserved:u16"},
    {"2", "48 PmcCtrConfig",
        "CounterCount:u32 CounterName:wstr[CounterCount]"},
    {"2", "49 PmcCtrConrruption",
        "ProcessorNumber:u32 CounterCount:u32 CounterStatus:raw"},
    {"2", "50 ISR-MSI",
        "InitialTime:u64 Routine:code ReturnValue:b8 Vector:u16 Reserved:u8 MessageNumber:u32"},
    {"2", "51 SysClEnter",
        "SysCallAddress:code"},
    {"2", "52 SysClExit",
        "SysCallNtStatus:nts"},
    {"2", "58 DebuggerEnabled",
        ""},
    {"2", "66 ThreadedDPC,68 DPC,69 TimerDPC,70 IOTimer",
        "InitialTime:u64 Routine:code"},
    {"1", "67 ISR,95 ISR-PASS",
        "InitialTime:u64 Routine:code ReturnValue:u32"},
    {"2", "67 ISR,95 ISR-PASS",
        "InitialTime:u64 Routine:code ReturnValue:b8 Vector:u16 Reserved:u8"},
    {"1", "68 DPC,69 TimerDPC",
        "InitialTime:u64 Routine:code"},
    {"2", "72 SetInterval,73 CollectionStart,74 CollectionEnd",
        "Source:u32;ProfileSource NewInterval:u32 OldInterval:u32"},
    {"3", "73 CollectionStart,74 CollectionEnd",
        "Source:u32;ProfileSource NewInterval:u32 OldInterval:u32 SourceName:wstr"},
    {"2", "75 CollectionStart,76 CollectionEnd",
        "SpinLockSpinThreshold:u32 SpinLockContentionSampleRate:u32 "
        "SpinLockAcquireSampleRate:u32"},
    {"3", "75 CollectionStart,76 CollectionEnd",
        "SpinLockSpinThreshold:u32 SpinLockContentionSampleRate:u32 "
        "SpinLockAcquireSampleRate:u32 SpinLockHoldThreshold:u32"},
    {"2", "92 ISR-Unexpected",
        "Vector:u16"},
    {"2", "93 IoStartTimer,94 IoStopTimer",
        "DeviceObject:ptr TimerRoutine:code"},
    {"2", "96 WdfISR,97 WdfPassiveISR,98 WdfDPC,103 WdfWorkItem",
        "Routine:code"},
    {"2", "104 SetKTimer2,105 ExpireKTimer2",
        "DueTime:u64 MaximumDueTime:u64 Period:u64 Timer:ptr Callback:code CallbackContext:code "
        "TimerFlags:x8"},
    {"2", "106 CancelKTimer2",
        "Timer:ptr"},
    {"2", "107 DisableKTimer2",
        "Timer:ptr DisableCallback:ptr DisableContext:ptr TimerFlags:x8"},
    {"2", "108 FinalizeKTimer2",
        "Timer:ptr DisableCallback:ptr DisableContext:ptr"},
    {"2", "114 KernelHypercall",
        "CallCode:u32 IsFast:u8 IsNested:u8"},
    {"2", "122 ContextRegistersAMD64",
        "Rip:x64 Rax:x64 Rcx:x64 Rdx:x64 Rbx:x64 Rsp:x64 Rbp:x64 Rsi:x64 Rdi:x64 R8:x64 R9:x64 "
        "R10:x64 R11:x64 R12:x64 R13:x64 R14:x64 R15:x64"},
    {"2", "123 ContextRegistersARM64",
        "Cpsr:x32 X0:x64 X1:x64 X2:x64 X3:x64 X4:x64 X5:x64 X6:x64 X7:x64 X8:x64 X9:x64 X10:x64 "
        "X11:x64 X12:x64 X13:x64 X14:x64 X15:x64 X16:x64 X17:x64 X18:x64 X19:x64 X20:x64 "
        "X21:x64 X22:x64 X23:x64 X24:x64 X25:x64 X26:x64 X27:x64 X28:x64 Fp:x64 Lr:x64 Sp:x64 "
        "Pc:x64"},
    {NULL, "32 RUNDOWN_CHECKPOINT, 36 ASYNCMARK, 38 IMAGENAME, 39 DELAYS_CC_CAN_I_WRITE, 53 "
        "BACKTRACE, 54 BACKTRACE_USERSTACK, 55 SAMPLED_PROFILE_CACHE, 56 EXCEPTION_STACK, 57 "
        "BRANCH_TRACE, 59 DEBUGGER_EXIT, 64 BRANCH_TRACE_DEBUG, 65 BRANCH_ADDRESS_DEBUG, 71 "
        "SAMPLED_PROFILE_NMI, 77 ERESOURCE_DC_START, 78 ERESOURCE_DC_END, 79 CLOCK_INTERRUPT, "
        "80 TIMER_EXPIRATION_START, 81 TIMER_EXPIRATION, 82 TIMER_SET_PERIODIC, 83 "
        "TIMER_SET_ONE_SHOT, 84 TIMER_SET_THREAD, 85 TIMER_CANCEL, 86 TIME_ADJUSTMENT, 87 "
        "CLOCK_MODE_SWITCH, 88 CLOCK_TIME_UPDATE, 89 CLOCK_DYNAMIC_TICK_VETO, 90 "
        "CLOCK_CONFIGURATION, 91 IPI, 99 CPU_CACHE_FLUSH, 100 DPC_ENQUEUE, 101 DPC_EXECUTION, "
        "102 INTERRUPT_STEERING, 109 SHOULD_YIELD_PROCESSOR, 128 FUNCTION_CALL, 129 "
        "FUNCTION_RETURN, 130 FUNCTION_ENTER, 131 FUNCTION_EXIT, 132 TAILCALL, 133 TRAP, 134 "
        "SPINLOCK_ACQUIRE, 135 SPINLOCK_RELEASE, 136 CAP_COMMENT, 137 CAP_RUNDOWN", NULL},
};
static const EtwKernelRow PoolRows[] = {
    {"2", "32 PoolAllocation,34 PoolFree",
        "Type:u32 Tag:c8[4] NumberOfBytes:size Entry:ptr"},
    {"2", "33 SessionPoolAllocation,35 SessionPoolFree",
        "Type:u32 Tag:c8[4] NumberOfBytes:size Entry:ptr SessionId:u32"},
    {"2", "40 PoolSnapDCStart,41 PoolSnapDCEnd,42 BigPoolSnapDCStart,43 BigPoolSnapDCEnd,44 "
        "SessionPoolSnapDCStart,45 SessionPoolSnapDCEnd,46 SessionBigPoolSnapDCStart,47 "
        "SessionBigPoolSnapDCEnd",
        ""},
    {NULL, "36 ADDPOOLPAGE, 37 ADDPOOLPAGE_SESSION, 38 BIGPOOLPAGE, 39 BIGPOOLPAGE_SESSION", NULL},
};
static const EtwKernelRow PowerRows[] = {
    {"2", "60 IdleExitLatency",
        "Flags:x32 PlatformState:u32 ProcessorState:u32 ReturnLatency:u32 TotalLatency:u32"},
    {NULL, "32 BATTERY_LIFE_INFO, 33 IDLE_STATE_CHANGE, 34 SET_POWER_ACTION, 35 "
        "SET_POWER_ACTION_RET, 36 SET_DEVICES_STATE, 37 SET_DEVICES_STATE_RET, 38 "
        "PO_NOTIFY_DEVICE, 39 PO_NOTIFY_DEVICE_COMPLETE, 40 PO_SESSION_CALLOUT, 41 "
        "PO_SESSION_CALLOUT_RET, 48 PO_PRESLEEP, 49 PO_POSTSLEEP, 50 PO_CALIBRATED_PERFCOUNTER, "
        "51 PPM_PERF_STATE_CHANGE, 52 PPM_THROTTLE_STATE_CHANGE, 53 PPM_IDLE_STATE_CHANGE, 54 "
        "PPM_THERMAL_CONSTRAINT, 55 PO_SIGNAL_RESUME_UI, 56 PO_SIGNAL_VIDEO_ON, 57 "
        "PPM_IDLE_STATE_ENTER, 58 PPM_IDLE_STATE_EXIT, 59 PPM_PLATFORM_IDLE_STATE_ENTER, 61 "
        "PPM_IDLE_PROCESSOR_SELECTION, 62 PPM_IDLE_PLATFORM_SELECTION, 63 "
        "PPM_COORDINATED_IDLE_ENTER, 64 PPM_COORDINATED_IDLE_EXIT", NULL},
};
static const EtwKernelRow ProcessRows[] = {
    {"0", "1 Start,2 End,3 DCStart,4 DCEnd",
        "ProcessId:size ParentId:size UserSID:sid ImageFileName:astr"},
    {"1", "1 Start,2 End,3 DCStart,4 DCEnd",
        "PageDirectoryBase:ptr ProcessId:pid ParentId:pid SessionId:u32 ExitStatus:s32 "
        "UserSID:sid ImageFileName:astr"},
    {"2", "1 Start,2 End,3 DCStart,4 DCEnd,39 Defunct",
        "UniqueProcessKey:ptr ProcessId:pid ParentId:pid SessionId:u32 ExitStatus:s32 "
        "UserSID:sid ImageFileName:astr CommandLine:wstr"},
    {"3", "1 Start,2 End,3 DCStart,4 DCEnd,39 Defunct",
        "UniqueProcessKey:ptr ProcessId:pid ParentId:pid SessionId:u32 ExitStatus:s32 "
        "DirectoryTableBase:ptr UserSID:sid ImageFileName:astr CommandLine:wstr"},
    {"4", "1 Start,2 End,3 DCStart,4 DCEnd,39 Defunct",
        "UniqueProcessKey:ptr ProcessId:pid ParentId:pid SessionId:u32 ExitStatus:s32 "
        "DirectoryTableBase:ptr Flags:u32;ProcessFlags UserSID:sid ImageFileName:astr "
        "CommandLine:wstr PackageFullName:wstr ApplicationId:wstr"},
    {"2", "11 Terminate",
        "ProcessId:pid"},
    {"2", "32 PerfCtr,33 PerfCtrRundown",
        "ProcessId:pid PageFaultCount:u32 HandleCount:u32 Reserved:u32 PeakVirtualSize:size "
        "PeakWorkingSetSize:size PeakPagefileUsage:size QuotaPeakPagedPoolUsage:size "
        "QuotaPeakNonPagedPoolUsage:size VirtualSize:size WorkingSetSize:size "
        "PagefileUsage:size QuotaPagedPoolUsage:size QuotaNonPagedPoolUsage:size "
        "PrivatePageCount:size"},
    {"2", "35 InSwap",
        "DirectoryTableBase:ptr ProcessId:pid"},
    {"5", "39 Defunct",
        "UniqueProcessKey:ptr ProcessId:pid ParentId:pid SessionId:u32 ExitStatus:s32 "
        "DirectoryTableBase:ptr Flags:u32;ProcessFlags UserSID:sid ImageFileName:astr "
        "CommandLine:wstr PackageFullName:wstr ApplicationId:wstr ExitTime:time"},
    {"2", "48 WakeChargeUser,49 WakeChargeExecution,50 WakeChargeKernel,51 "
        "WakeChargeInstrumentation,52 WakeChargePreserveProcess,64 WakeReleaseUser,65 "
        "WakeReleaseExecution,66 WakeReleaseKernel,67 WakeReleaseInstrumentation,68 "
        "WakeReleasePreserveProcess,80 WakeDropUser,81 WakeDropExecution,82 WakeDropKernel,83 "
        "WakeDropInstrumentation,84 WakeDropPreserveProcess",
        "Object:ptr Tag:ptr ProcessId:pid Count:u32"},
    {"2", "96 WakeEventUser,97 WakeEventExecution,98 WakeEventKernel,99 WakeEventInstrumentation",
        "Object:ptr"},
    {NULL, "36 PROCESS_FREEZE, 37 PROCESS_THAW, 38 BOOT_PHASE_START, 40 PROCESS_SET_AFFINITY, 100 "
        "WAKE_EVENT_PRESERVE_PROCESS, 112 DEBUG_EVENT", NULL},
};
static const EtwKernelRow RegistryRows[] = {
    {"0", "10 Create,11 Open,12 Delete,13 Query,14 SetValue,15 DeleteValue,16 QueryValue,17 "
        "EnumerateKey,18 EnumerateValueKey,19 QueryMultipleValue,20 SetInformation,21 Flush",
        "Status:ptr KeyHandle:ptr ElapsedTime:s64 KeyName:wstr"},
    {"1", "10 Create,11 Open,12 Delete,13 Query,14 SetValue,15 DeleteValue,16 QueryValue,17 "
        "EnumerateKey,18 EnumerateValueKey,19 QueryMultipleValue,20 SetInformation,21 Flush,22 "
        "RunDown",
        "Status:ptr KeyHandle:ptr ElapsedTime:s64 Index:u32 KeyName:wstr"},
    {"2", "10 Create,11 Open,12 Delete,13 Query,14 SetValue,15 DeleteValue,16 QueryValue,17 "
        "EnumerateKey,18 EnumerateValueKey,19 QueryMultipleValue,20 SetInformation,21 Flush,22 "
        "KCBCreate,23 KCBDelete,24 KCBRundownBegin,25 KCBRundownEnd,26 Virtualize,27 Close,28 "
        "SetSecurity,29 QuerySecurity",
        "InitialTime:s64 Status:nts Index:u32 KeyHandle:ptr KeyName:wstr"},
    {"2", "30 TxRCommit,31 TxRPrepare,32 TxRRollback",
        "TxrGUID:guid Status:nts UowCount:u32 OperationTime:u64 Hive:wstr"},
    {"2", "34 Counters",
        "Counter1:u64 Counter2:u64 Counter3:u64 Counter4:u64 Counter5:u64 Counter6:u64 "
        "Counter7:u64 Counter8:u64 Counter9:u64 Counter10:u64 Counter11:u64"},
    {"2", "35 Config",
        "CurrentControlSet:u32"},
    {"2", "36 HiveInit",
        "Hive:ptr OperationType:u32 PoolTag:c8[4] Size:u32 FileName:wstr"},
    {"2", "37 HiveDestroy",
        "Hive:ptr FileName:wstr Path:wstr"},
    {"2", "38 HiveLink",
        "Hive:ptr Path:wstr"},
    {"2", "39 HiveDCEnd",
        "Size:u64 Hive:ptr LoadedKeyCount:u32 FileName:wstr LinkPath:wstr"},
    {"2", "40 HiveDirty",
        "Hive:ptr LinkPath:wstr DirtyReason:u32"},
    {"2", "48 ChangeNotify",
        "Notification:ptr KeyHandle:ptr Type:u8 WatchSubtree:u8 Primary:u8"},
    {NULL, "33 REG_SET_VALUE, 49 REG_NOTIF_DELIVER", NULL},
};
static const EtwKernelRow SplitIoRows[] = {
    {"2", "32 VolMgr",
        "ParentIrp:ptr ChildIrp:ptr"},
};
static const EtwKernelRow StackWalkRows[] = {
    {"2", "32 Stack",
        "EventTimeStamp:u64 StackProcess:pid StackThread:tid Stack:code[*]"},
    {"2", "34 KeyCreate,35 KeyDelete,36 KeyRundown",
        "StackKey:ptr Stack:code[*]"},
    {"2", "37 StackKeyKernel,38 StackKeyUser",
        "EventTimeStamp:u64 StackProcess:pid StackThread:tid StackKey:ptr"},
};
static const EtwKernelRow SystemConfigRows[] = {
    {"0,1", "10 CPU",
        "MHz:u32 NumberOfProcessors:u32 MemSize:u32 PageSize:u32 AllocationGranularity:u32 "
        "ComputerName:c16[256] DomainName:c16[132] HyperThreadingFlag:ptr"},
    {"2", "10 CPU",
        "MHz:u32 NumberOfProcessors:u32 MemSize:u32 PageSize:u32 AllocationGranularity:u32 "
        "ComputerName:c16[256] DomainName:c16[134] HyperThreadingFlag:ptr"},
    {"3", "10 CPU",
        "MHz:u32 NumberOfProcessors:u32 MemSize:u32 PageSize:u32 AllocationGranularity:u32 "
        "ComputerName:c16[256] DomainName:c16[134] HyperThreadingFlag:ptr "
        "HighestUserAddress:ptr ProcessorArchitecture:u16;Architecture ProcessorLevel:u16 "
        "ProcessorRevision:u16 PaeEnabled:b8 NxEnabled:b8 MemorySpeed:u32"},
    {"0,1,2", "11 PhyDisk",
        "DiskNumber:u32 BytesPerSector:u32 SectorsPerTrack:u32 TracksPerCylinder:u32 "
        "Cylinders:u64 SCSIPort:u32 SCSIPath:u32 SCSITarget:u32 SCSILun:u32 "
        "Manufacturer:c16[256] PartitionCount:u32 WriteCacheEnabled:b8 Pad:u8 "
        "BootDriveLetter:c16[3] Spare:c16[2]"},
    {"0,1", "12 LogDisk",
        "StartOffset:u64 PartitionSize:u64 DiskNumber:u32 Size:u32 DriveType:u32 "
        "DriveLetterString:c16[4] Pad1:u32 PartitionNumber:u32 SectorsPerCluster:u32 "
        "BytesPerSector:u32 Pad2:u32 NumberOfFreeClusters:s64 TotalNumberOfClusters:s64 "
        "FileSystem:c16[16] VolumeExt:u32"},
    {"2", "12 LogDisk",
        "StartOffset:u64 PartitionSize:u64 DiskNumber:u32 Size:u32 DriveType:u32 "
        "DriveLetterString:c16[4] Pad1:u32 PartitionNumber:u32 SectorsPerCluster:u32 "
        "BytesPerSector:u32 Pad2:u32 NumberOfFreeClusters:s64 TotalNumberOfClusters:s64 "
        "FileSystem:c16[16] VolumeExt:u32 Pad3:u32"},
    {"0,1", "13 NIC",
        "NICName:c16[256] Index:u32 PhysicalAddrLen:u32 PhysicalAddr:c16[8] Size:u32 "
        "IpAddress:ip4 SubnetMask:ip4 DhcpServer:ip4 Gateway:ip4 PrimaryWinsServer:ip4 "
        "SecondaryWinsServer:ip4 DnsServer1:ip4 DnsServer2:ip4 DnsServer3:ip4 DnsServer4:ip4 "
        "Data:u32"},
    {"2", "13 NIC",
        "PhysicalAddr:mac PhysicalAddrLen:u32 Ipv4Index:u32 Ipv6Index:u32 NICDescription:wstr "
        "IpAddresses:wstr DnsServerAddresses:wstr"},
    {"0,1,2", "14 Video",
        "MemorySize:u32 XResolution:u32 YResolution:u32 BitsPerPixel:u32 VRefresh:u32 "
        "ChipType:c16[256] DACType:c16[256] AdapterString:c16[256] BiosString:c16[256] "
        "DeviceId:c16[256] StateFlags:x32"},
    {"0,1", "15 Services",
        "ServiceName:c16[34] DisplayName:c16[256] ProcessName:c16[34] ProcessId:pid"},
    {"2", "15 Services",
        "ProcessId:pid ServiceState:u32;ServiceState SubProcessTag:u32 ServiceName:wstr "
        "DisplayName:wstr ProcessName:wstr"},
    {"3", "15 Services",
        "ProcessId:pid ServiceState:u32;ServiceState SubProcessTag:u32 ServiceName:wstr "
        "DisplayName:wstr ProcessName:wstr LoadOrderGroup:wstr SvchostGroup:wstr"},
    {"0,1,2", "16 Power",
        "S1:u8 S2:u8 S3:u8 S4:u8 S5:u8 Pad1:u8 Pad2:u8 Pad3:u8"},
    {"2", "17 Network",
        "TcbTablePartitions:u32 MaxHashTableSize:u32 MaxUserPort:u32 TcpTimedWaitDelay:u32"},
    {"2", "18 OpticalDisk",
        "DiskNumber:u16 BusType:u16 DeviceType:u16 MediaType:u16 StartingOffset:u64 Size:u64 "
        "NumberOfFreeBlocks:u64 TotalNumberOfBlocks:u64 NextWritableAddress:u64 "
        "NumberOfSessions:u32 NumberOfTracks:u32 BytesPerSector:u32 DiscStatus:u16 "
        "LastSessionStatus:u16 DriveLetter:wstr FileSystemName:wstr DeviceName:astr "
        "ManufacturerName:astr"},
    {"0,1,2", "21 IRQ",
        "IRQAffinity:x64 IRQNum:u32 DeviceDescriptionLen:u32 DeviceDescription:wstr"},
    {"3", "21 IRQ",
        "IRQAffinity:x64 IRQGroup:u16 Reserved:u16 IRQNum:u32 DeviceDescriptionLen:u32 "
        "DeviceDescription:wstr"},
    {"0,1,2", "22 PnP",
        "IDLength:u32 DescriptionLength:u32 FriendlyNameLength:u32 DeviceID:wstr "
        "DeviceDescription:wstr FriendlyName:wstr"},
    {"3", "22 PnP",
        "IDLength:u32 DescriptionLength:u32 FriendlyNameLength:u32 DeviceID:wstr "
        "DeviceDescription:wstr FriendlyName:wstr PdoName:wstr"},
    {"4", "22 PnP",
        "ClassGuid:guid UpperFiltersCount:u32 LowerFiltersCount:u32 DeviceID:wstr "
        "DeviceDescription:wstr FriendlyName:wstr PdoName:wstr ServiceName:wstr "
        "UpperFilters:wstr[UpperFiltersCount] LowerFilters:wstr[LowerFiltersCount]"},
    {"5", "22 PnP",
        "ClassGuid:guid UpperFiltersCount:u32 LowerFiltersCount:u32 DevStatus:u32 "
        "DevProblem:u32 DeviceID:wstr DeviceDescription:wstr FriendlyName:wstr PdoName:wstr "
        "ServiceName:wstr UpperFilters:wstr[UpperFiltersCount] "
        "LowerFilters:wstr[LowerFiltersCount]"},
    {"2", "23 IDEChannel",
        "TargetId:u32 DeviceType:u32 DeviceTimingMode:u32 LocationInformationLen:u32 "
        "LocationInformation:wstr"},
    {"2", "24 NumaNode",
        "NodeCount:u32 NodeMap:x64"},
    {"2", "25 Platform",
        "SystemManufacturer:wstr SystemProductName:wstr BiosDate:wstr BiosVersion:wstr"},
    {"2", "26 ProcessorGroup",
        "GroupCount:u32 Affinity:ptr"},
    {"2", "27 ProcessorNumber",
        "ProcessorCount:u32 ProcessorNumber:u32[ProcessorCount]"},
    {"2", "28 DPI",
        "MachineDPI:u32 UserDPI:u32"},
    {"2", "29 CodeIntegrity",
        "CodeIntegrityInfo:u32"},
    {"2", "30 TelemetryConfiguration",
        "MachineId:guid"},
    {"2", "31 Defragmentation",
        "AlignmentClusters:u64 AvgFreeSpaceSize:u64 ClustersPerSlab:u64 "
        "FragmentedDirectoryExtents:u64 FragmentedExtents:u64 FreeSpaceCount:u64 "
        "LargestFreeSpaceSize:u64 LastRunActualPurgeClusters:u64 LastRunClustersTrimmed:u64 "
        "LastRunFullDefragTime:u64 LastRunTime:u64 MFTSize:u64 TotalClusters:u64 "
        "TotalUsedClusters:u64 AvgFragmentsPerFile:u32 BytesPerCluster:u32 DirectoryCount:u32 "
        "FragmentedDirectories:u32 FragmentedFiles:u32 FragmentedSpace:u32 HardwareIssue:u32 "
        "InUseMFTRecords:u32 InUseSlabs:u32 LastRunActualPurgeSlabs:u32 "
        "LastRunInitialBackedSlabs:u32 LastRunPercentFragmentation:u32 LastRunPinnedSlabs:u32 "
        "LastRunPotentialPurgeSlabs:u32 LastRunSpaceInefficientSlabs:u32 "
        "LastRunTrimmedSlabs:u32 LastRunUnknownEvictFailSlabs:u32 LastRunVolsnapPinnedSlabs:u32 "
        "MFTFragmentCount:u32 MovableFiles:u32 TotalMFTRecords:u32 TotalSlabs:u32 "
        "UnmovableFiles:u32 VolumeId:guid VolumePathNames:wstr"},
    {"2", "32 MobilePlatform",
        "BootLoaderVersion:wstr FirmwareRevision:wstr FriendlyName:wstr HardwareRevision:wstr "
        "Manufacturer:wstr ManufacturerDisplayName:wstr ManufacturerModelName:wstr "
        "MobileOperatorDisplayName:wstr MobileOperatorName:wstr ModelName:wstr "
        "RadioHardwareRevision:wstr RadioSoftwareRevision:wstr ROMVersion:wstr SOCVersion:wstr "
        "HardwareVariant:wstr"},
    {"3", "32 MobilePlatform",
        "DeviceManufacturer:wstr DeviceManufacturerDisplayName:wstr DeviceModel:wstr "
        "DeviceModelDisplayName:wstr MobileOperator:wstr MobileOperatorDisplayName:wstr "
        "HardwareVersion:wstr SocVersion:wstr RadioHardwareVersion:wstr "
        "RadioSoftwareVersion:wstr BspVersion:wstr OemSoftwareVersion:wstr"},
    {"4", "32 MobilePlatform",
        "DeviceManufacturer:wstr DeviceManufacturerDisplayName:wstr DeviceModel:wstr "
        "DeviceModelDisplayName:wstr MobileOperator:wstr SocVersion:wstr BspVersion:wstr"},
    {"2", "33 DeviceFamily",
        "UAPInfo:u64 DeviceFamily:u32 DeviceForm:u32"},
    {"2", "34 FlightIds",
        "UpdateId:wstr FlightIdList:wstr"},
    {"2", "35 Processors",
        "ProcessorIndex:u32 FeatureSet:x32 ProcessorSpeed:u32 ProcessorName:c16[64] "
        "VendorIdentifier:c16[16] ProcessorIdentifier:c16[128]"},
    {"2", "36 Virtualization Config Info",
        "VbsEnabled:b8 HvciEnabled:b8 HyperVisorEnabled:b8 Reserved:u8"},
    {"2", "37 Boot Config Info",
        "BootFlags:x64 FirmwareType:u32;FirmwareType SecureBootEnabled:b8 SecureBootCapable:b8 "
        "Reserved1:u8 Reserved2:u8"},
};
static const EtwKernelRow TcpIpRows[] = {
    {"0", "10 Send,11 Recv,12 Connect,13 Disconnect,14 Retransmit,15 Accept",
        "daddr:ip4 saddr:ip4 dport:port sport:port size:u32 PID:pid"},
    {"1", "10 Send",
        "PID:pid size:u32 daddr:ip4 saddr:ip4 dport:port sport:port startime:u32 endtime:u32 "
        "connid:ptr seqnum:u32"},
    {"2", "10 SendIPV4",
        "PID:pid size:u32 daddr:ip4 saddr:ip4 dport:port sport:port startime:u32 endtime:u32 "
        "seqnum:u32 connid:ptr"},
    {"1", "11 Recv,13 Disconnect,14 Retransmit,16 Reconnect,18 TCPCopy,19 ARPCopy,20 FullACK,21 "
        "PartACK,22 DupACK",
        "PID:pid size:u32 daddr:ip4 saddr:ip4 dport:port sport:port connid:ptr seqnum:u32"},
    {"2", "11 RecvIPV4,13 DisconnectIPV4,14 RetransmitIPV4,16 ReconnectIPV4,18 TCPCopyIPV4",
        "PID:pid size:u32 daddr:ip4 saddr:ip4 dport:port sport:port seqnum:u32 connid:ptr"},
    {"1", "12 Connect,15 Accept",
        "PID:pid size:u32 daddr:ip4 saddr:ip4 dport:port sport:port mss:u16 sackopt:u16 "
        "tsopt:u16 wsopt:u16 rcvwin:u32 rcvwinscale:s16 sndwinscale:s16 connid:ptr seqnum:u32"},
    {"2", "12 ConnectIPV4,15 AcceptIPV4",
        "PID:pid size:u32 daddr:ip4 saddr:ip4 dport:port sport:port mss:u16 sackopt:u16 "
        "tsopt:u16 wsopt:u16 rcvwin:u32 rcvwinscale:s16 sndwinscale:s16 seqnum:u32 connid:ptr"},
    {"1", "17 Fail",
        "Proto:u32"},
    {"2", "17 Fail",
        "Proto:u16 FailureCode:u16"},
    {"2", "26 SendIPV6",
        "PID:pid size:u32 daddr:ip6 saddr:ip6 dport:port sport:port startime:u32 endtime:u32 "
        "seqnum:u32 connid:ptr"},
    {"2", "27 RecvIPV6,29 DisconnectIPV6,30 RetransmitIPV6,32 ReconnectIPV6,34 TCPCopyIPV6",
        "PID:pid size:u32 daddr:ip6 saddr:ip6 dport:port sport:port seqnum:u32 connid:ptr"},
    {"2", "28 ConnectIPV6,31 AcceptIPV6",
        "PID:pid size:u32 daddr:ip6 saddr:ip6 dport:port sport:port mss:u16 sackopt:u16 "
        "tsopt:u16 wsopt:u16 rcvwin:u32 rcvwinscale:s16 sndwinscale:s16 seqnum:u32 connid:ptr"},
    {NULL, "33 TCPIP_FAIL_IPV6, 35 TCPIP_ARPCOPY_IPV6, 36 TCPIP_FULLACK_IPV6, 37 "
        "TCPIP_PARTACK_IPV6, 38 TCPIP_DUPACK_IPV6", NULL},
};
static const EtwKernelRow ThreadRows[] = {
    {"0", "1 Start,2 End,3 DCStart,4 DCEnd",
        "TThreadId:tid ProcessId:pid"},
    {"1", "1 Start,3 DCStart,4 DCEnd",
        "ProcessId:pid TThreadId:tid StackBase:ptr StackLimit:ptr UserStackBase:ptr "
        "UserStackLimit:ptr StartAddr:ptr Win32StartAddr:ptr WaitMode:s8;WaitMode"},
    {"2", "1 Start,2 End,3 DCStart,4 DCEnd",
        "ProcessId:pid TThreadId:tid StackBase:ptr StackLimit:ptr UserStackBase:ptr "
        "UserStackLimit:ptr StartAddr:ptr Win32StartAddr:ptr TebBase:ptr SubProcessTag:u32"},
    {"3", "1 Start,2 End,3 DCStart,4 DCEnd",
        "ProcessId:pid TThreadId:tid StackBase:ptr StackLimit:ptr UserStackBase:ptr "
        "UserStackLimit:ptr Affinity:ptr Win32StartAddr:ptr TebBase:ptr SubProcessTag:u32 "
        "BasePriority:u8 PagePriority:u8 IoPriority:u8;IoPriority ThreadFlags:u8"},
    {"4", "1 Start,2 End,3 DCStart,4 DCEnd",
        "ProcessId:pid TThreadId:tid StackBase:ptr StackLimit:ptr UserStackBase:ptr "
        "UserStackLimit:ptr Affinity:ptr Win32StartAddr:ptr TebBase:ptr SubProcessTag:u32 "
        "BasePriority:u8 PagePriority:u8 IoPriority:u8;IoPriority ThreadFlags:u8 "
        "ThreadName:wstr"},
    {"1", "2 End",
        "ProcessId:pid TThreadId:tid"},
    {"1", "36 CSwitch",
        "NewThreadId:tid OldThreadId:tid NewThreadPriority:s8 OldThreadPriority:s8 "
        "NewThreadQuantum:s8 OldThreadQuantum:s8 OldThreadWaitReason:s8;WaitReason "
        "OldThreadWaitMode:s8;WaitMode OldThreadState:s8;ThreadState "
        "OldThreadWaitIdealProcessor:s8"},
    {"2", "36 CSwitch",
        "NewThreadId:tid OldThreadId:tid NewThreadPriority:s8 OldThreadPriority:s8 "
        "PreviousCState:u8 SpareByte:s8 OldThreadWaitReason:s8;WaitReason "
        "OldThreadWaitMode:s8;WaitMode OldThreadState:s8;ThreadState "
        "OldThreadWaitIdealProcessor:s8 NewThreadWaitTime:u32 Reserved:u32"},
    {"3,4", "36 CSwitch",
        "NewThreadId:tid OldThreadId:tid NewThreadPriority:s8 OldThreadPriority:s8 "
        "PreviousCState:u8 SpareByte:s8 OldThreadWaitReason:s8;WaitReason ThreadFlags:s8 "
        "OldThreadState:s8;ThreadState OldThreadWaitIdealProcessor:s8 NewThreadWaitTime:u32 "
        "Reserved:u32"},
    {"2", "37 CompCS",
        ""},
    {"2", "41 SpinLock",
        "SpinLockAddress:ptr CallerAddress:ptr AcquireTime:u64 ReleaseTime:u64 "
        "WaitTimeInCycles:u32 SpinCount:u32 ThreadId:tid InterruptCount:u32 Irql:u8 "
        "AcquireDepth:u8 Flag:u8 Reserved:u8[5]"},
    {"2", "48 ReserveCreate",
        "Reserve:ptr Period:u32 Budget:u32 ObjectFlags:x32 Processor:s8"},
    {"3", "48 SetPriority,49 SetBasePriority,51 SetPagePriority,52 SetIoPriority",
        "ThreadId:tid OldPriority:u8 NewPriority:u8 Reserved:u16"},
    {"2", "49 ReserveDelete",
        "Reserve:ptr"},
    {"2", "50 ReadyThread",
        "TThreadId:tid AdjustReason:s8;AdjustReason AdjustIncrement:s8 Flag:s8;ReadyFlags "
        "Reserved:s8"},
    {"2", "52 ReserveJoinThread",
        "Reserve:ptr TThreadId:tid"},
    {"2", "53 ThreadAffinity",
        "Affinity:ptr ThreadId:tid Group:u16 Reserved:u16"},
    {"2", "54 ReserveState",
        "Reserve:ptr DispatchState:s8 Replenished:b8"},
    {"2", "55 ReserveBandwidth",
        "Reserve:ptr Period:u32 Budget:u32"},
    {"2", "56 ReserveLateCount",
        "Reserve:ptr LateCountIncrement:s32"},
    {"1,2", "57 WorkerThread",
        "TThreadId:tid StartTime:u64 ThreadRoutine:code"},
    {"2", "60 AntiStarvationBoost",
        "ThreadId:tid ProcessorIndex:u16 Priority:u8 Reserved:u8"},
    {"2", "61 Thread Migration",
        "ThreadId:tid SourceProcessorIndex:u16 TargetProcessorIndex:u16 Priority:u8 "
        "IdealProcessorAdjust:b8 OldIdealProcessorIndex:u16"},
    {"2", "62 Kernel Queue Enqueue",
        "Entry:ptr ThreadId:tid"},
    {"2", "63 Kernel Queue Dequeue",
        "ThreadId:tid EntryCount:u32 Entries:ptr"},
    {"2", "64 Start,65 End",
        "CallbackRoutine:code"},
    {"2", "66 AutoBoost Set Floor",
        "Lock:ptr ThreadId:tid NewCpuPriorityFloor:u8 OldCpuPriority:u8 IoPriorities:u8 "
        "BoostFlags:u8"},
    {"2", "67 AutoBoost Clear Floor",
        "LockAddress:ptr ThreadId:tid BoostBitmap:u32"},
    {"2", "68 AutoBoost Entry Exhaustion",
        "LockAddress:ptr ThreadId:tid"},
    {"2", "69 SubProcessTag Changed",
        "OldTag:u32 NewTag:u32"},
    {"2", "72 SetName",
        "ProcessId:pid ThreadId:tid ThreadName:wstr"},
    {NULL, "42 QUEUE, 43 RESOURCE, 44 PUSHLOCK, 45 WAIT_SINGLE, 46 WAIT_MULTIPLE, 47 "
        "DELAY_EXECUTION, 58 DFSS_START_NEW_INTERVAL, 59 DFSS_PROCESS_IDLE_ONLY_QUEUE", NULL},
};
static const EtwKernelRow ThreadPoolRows[] = {
    {"0", "32 CBEnqueue,34 CBStart",
        "PoolId:ptr TaskId:ptr CallbackFunction:code CallbackContext:code SubProcessTag:ptr"},
    {"0", "33 CBDequeue,35 CBStop",
        "TaskId:ptr"},
    {"0", "36 CBCancel",
        "TaskId:ptr CancelCount:u32"},
    {"0", "37 PoolCreate,38 PoolClose",
        "PoolId:ptr"},
    {"0", "39 ThreadMinSet,40 ThreadMaxSet",
        "PoolId:ptr ThreadNum:u32"},
    {NULL, "41 TP_WORKER_NUMANODE_SWITCH, 42 TP_TIMER_SET, 43 TP_TIMER_CANCELLED, 44 "
        "TP_TIMER_SET_NTTIMER, 45 TP_TIMER_CANCEL_NTTIMER, 46 TP_TIMER_EXPIRATION_BEGIN, 47 "
        "TP_TIMER_EXPIRATION_END, 48 TP_TIMER_EXPIRATION", NULL},
};
static const EtwKernelRow UdpIpRows[] = {
    {"0", "10 Send,11 Recv",
        "context:ptr saddr:ip4 sport:port size:u16 daddr:ip4 dport:port dsize:u16"},
    {"1", "10 Send,11 Recv",
        "PID:pid size:u32 daddr:ip4 saddr:ip4 dport:port sport:port"},
    {"2", "10 SendIPV4,11 RecvIPV4",
        "PID:pid size:u32 daddr:ip4 saddr:ip4 dport:port sport:port seqnum:u32 connid:ptr"},
    {"2", "17 Fail",
        "Proto:u16 FailureCode:u16"},
    {"2", "26 SendIPV6,27 RecvIPV6",
        "PID:pid size:u32 daddr:ip6 saddr:ip6 dport:port sport:port seqnum:u32 connid:ptr"},
};
static const EtwKernelRow UmsRows[] = {
    {"2", "32 DSwitchStart,33 DSwitchEnd",
        "ProcessId:pid ScheduledThreadId:tid PrimaryThreadId:tid SwitchFlags:x32"},
    {"2", "34 ScheduledPark",
        "ProcessId:pid ScheduledThreadId:tid ParkFlags:x32"},
    {"2", "35 Disassociate",
        "ProcessId:pid ScheduledThreadId:tid PrimaryThreadId:tid UmsApcControlFlags:x32 "
        "Status:nts"},
    {"2", "36 CSwitch",
        "ScheduledThreadId:tid SwitchCount:u32 KernelYieldCount:u32 MixedYieldCount:u32 "
        "YieldCount:u32"},
};
static const EtwKernelRow WnfRows[] = {
    {NULL, "32 WNF_SUBSCRIBE, 33 WNF_UNSUBSCRIBE, 34 WNF_CALLBACK, 35 WNF_PUBLISH, 36 "
        "WNF_NAME_SUB_RUNDOWN", NULL},
};

const EtwKernelClass etwKernelTables[] = {
    {"Alpc", "45d8cccd-539f-4b72-a8b7-5c683142609a", AlpcRows,
        (int)(sizeof AlpcRows / sizeof *AlpcRows)},
    {"Cc", "7687a439-f752-45b8-b741-321aec0f8df9", CcRows,
        (int)(sizeof CcRows / sizeof *CcRows)},
    {"CritSec", "3ac66736-cc59-4cff-8115-8df50e39816b", CritSecRows,
        (int)(sizeof CritSecRows / sizeof *CritSecRows)},
    {"DbgPrint", "13976d09-a327-438c-950b-7f03192815c7", DbgPrintRows,
        (int)(sizeof DbgPrintRows / sizeof *DbgPrintRows)},
    {"DiskIo", "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c", DiskIoRows,
        (int)(sizeof DiskIoRows / sizeof *DiskIoRows)},
    {"Dpc", "b2d14872-7c5b-463d-8419-ee9bf7d23e04", DpcRows,
        (int)(sizeof DpcRows / sizeof *DpcRows)},
    {"FileIo", "90cbdc39-4a3e-11d1-84f4-0000f80464e3", FileIoRows,
        (int)(sizeof FileIoRows / sizeof *FileIoRows)},
    {"Heap", "222962ab-6180-4b88-a825-346b75f2a24a", HeapRows,
        (int)(sizeof HeapRows / sizeof *HeapRows)},
    {"Hypervisor", "7f2a405c-69b5-4bf9-a1f5-30e8f1afab5e", HypervisorRows,
        (int)(sizeof HypervisorRows / sizeof *HypervisorRows)},
    {"HypervisorX", "2ce9a149-effe-42f0-a635-a1d39e26c8f2", HypervisorXRows,
        (int)(sizeof HypervisorXRows / sizeof *HypervisorXRows)},
    {"Image", "2cb15d1d-5fc1-11d2-abe1-00a0c911f518", ImageRows,
        (int)(sizeof ImageRows / sizeof *ImageRows)},
    {"Job", "3282fc76-feed-498e-8aa7-e70f459d430e", JobRows,
        (int)(sizeof JobRows / sizeof *JobRows)},
    {"LastBranch", "99134383-5248-43fc-834b-529454e75df3", LastBranchRows,
        (int)(sizeof LastBranchRows / sizeof *LastBranchRows)},
    {"Lost_Event", "6a399ae0-4bc6-4de9-870b-3657f8947e7e", LostEventRows,
        (int)(sizeof LostEventRows / sizeof *LostEventRows)},
    {"MMCSS", "f8f10121-b617-4a56-868b-9df1b27fe32c", MMCSSRows,
        (int)(sizeof MMCSSRows / sizeof *MMCSSRows)},
    {"ModBound", "a9152f00-3f58-4bee-92a1-70c7d079d5dd", ModBoundRows,
        (int)(sizeof ModBoundRows / sizeof *ModBoundRows)},
    {"Object", "89497f50-effe-4440-8cf2-ce6b1cdcaca7", ObjectRows,
        (int)(sizeof ObjectRows / sizeof *ObjectRows)},
    {"PageFault", "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c", PageFaultRows,
        (int)(sizeof PageFaultRows / sizeof *PageFaultRows)},
    {"PerfInfo", "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc", PerfInfoRows,
        (int)(sizeof PerfInfoRows / sizeof *PerfInfoRows)},
    {"Pool", "0268a8b6-74fd-4302-9dd0-6e8f1795c0cf", PoolRows,
        (int)(sizeof PoolRows / sizeof *PoolRows)},
    {"Power", "e43445e0-0903-48c3-b878-ff0fccebdd04", PowerRows,
        (int)(sizeof PowerRows / sizeof *PowerRows)},
    {"Process", "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c", ProcessRows,
        (int)(sizeof ProcessRows / sizeof *ProcessRows)},
    {"Registry", "ae53722e-c863-11d2-8659-00c04fa321a1", RegistryRows,
        (int)(sizeof RegistryRows / sizeof *RegistryRows)},
    {"SplitIo", "d837ca92-12b9-44a5-ad6a-3a65b3578aa8", SplitIoRows,
        (int)(sizeof SplitIoRows / sizeof *SplitIoRows)},
    {"StackWalk", "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3", StackWalkRows,
        (int)(sizeof StackWalkRows / sizeof *StackWalkRows)},
    {"SystemConfig", "01853a65-418f-4f36-aefc-dc0f1d2fd235", SystemConfigRows,
        (int)(sizeof SystemConfigRows / sizeof *SystemConfigRows)},
    {"TcpIp", "9a280ac0-c8e0-11d1-84e2-00c04fb998a2", TcpIpRows,
        (int)(sizeof TcpIpRows / sizeof *TcpIpRows)},
    {"Thread", "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c", ThreadRows,
        (int)(sizeof ThreadRows / sizeof *ThreadRows)},
    {"ThreadPool", "c861d0e2-a2c1-4d36-9f9c-970bab943a12", ThreadPoolRows,
        (int)(sizeof ThreadPoolRows / sizeof *ThreadPoolRows)},
    {"UdpIp", "bf3a50c5-a9c9-4988-a005-2df0b7c80f80", UdpIpRows,
        (int)(sizeof UdpIpRows / sizeof *UdpIpRows)},
    {"Ums", "9aec974b-5b8e-4118-9b92-3186d8002ce5", UmsRows,
        (int)(sizeof UmsRows / sizeof *UmsRows)},
    {"Wnf", "42695762-ea50-497a-9068-5cbbb35e0b95", WnfRows,
        (int)(sizeof WnfRows / sizeof *WnfRows)},
    {0},
};
