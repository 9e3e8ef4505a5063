/*
 * Functions of the C API of ONNX Runtime (`onnxruntime_c_api.h`): their places in the function table, whose entries
 * never move, and their parameters. Those that return a status return null when they succeed.
 */

/** The version of the table that holds all of them. */
export const tableVersion = 24;

/** `out`: a pointer that the function sets; `out[]`: as many as the outputs of a run. */
export type ParameterType =
  | 'pointer'
  | 'pointers'
  | 'string'
  | 'strings'
  | 'bytes'
  | 'int'
  | 'size'
  | 'int64s'
  | 'out'
  | 'out[]'
  | 'out int'
  | 'out size'
  | 'out int64s'
  | 'out strings';

interface Signature {
  at: number;
  parameters: readonly ParameterType[];
}

export const signatures = {
  CreateEnv: { at: 3, parameters: ['int', 'string', 'out'] },
  CreateSession: { at: 7, parameters: ['pointer', 'string', 'pointer', 'out'] },
  CreateSessionFromArray: { at: 8, parameters: ['pointer', 'bytes', 'size', 'pointer', 'out'] },
  Run: {
    at: 9,
    parameters: ['pointer', 'pointer', 'strings', 'pointers', 'size', 'strings', 'size', 'out[]'],
  },
  CreateSessionOptions: { at: 10, parameters: ['out'] },
  DisableMemPattern: { at: 17, parameters: ['pointer'] },
  DisableCpuMemArena: { at: 19, parameters: ['pointer'] },
  SetSessionLogSeverityLevel: { at: 22, parameters: ['pointer', 'int'] },
  SetSessionGraphOptimizationLevel: { at: 23, parameters: ['pointer', 'int'] },
  SetIntraOpNumThreads: { at: 24, parameters: ['pointer', 'int'] },
  SetInterOpNumThreads: { at: 25, parameters: ['pointer', 'int'] },
  SessionGetInputCount: { at: 30, parameters: ['pointer', 'out size'] },
  SessionGetOutputCount: { at: 31, parameters: ['pointer', 'out size'] },
  SessionGetInputTypeInfo: { at: 33, parameters: ['pointer', 'size', 'out'] },
  SessionGetOutputTypeInfo: { at: 34, parameters: ['pointer', 'size', 'out'] },
  SessionGetInputName: { at: 36, parameters: ['pointer', 'size', 'pointer', 'out'] },
  SessionGetOutputName: { at: 37, parameters: ['pointer', 'size', 'pointer', 'out'] },
  CreateTensorAsOrtValue: { at: 48, parameters: ['pointer', 'int64s', 'size', 'int', 'out'] },
  CreateTensorWithDataAsOrtValue: {
    at: 49,
    parameters: ['pointer', 'bytes', 'size', 'int64s', 'size', 'int', 'out'],
  },
  GetTensorMutableData: { at: 51, parameters: ['pointer', 'out'] },
  CastTypeInfoToTensorInfo: { at: 55, parameters: ['pointer', 'out'] },
  GetTensorElementType: { at: 60, parameters: ['pointer', 'out int'] },
  GetDimensionsCount: { at: 61, parameters: ['pointer', 'out size'] },
  GetDimensions: { at: 62, parameters: ['pointer', 'out int64s', 'size'] },
  GetSymbolicDimensions: { at: 63, parameters: ['pointer', 'out strings', 'size'] },
  GetTensorTypeAndShape: { at: 65, parameters: ['pointer', 'out'] },
  CreateMemoryInfo: { at: 68, parameters: ['string', 'int', 'int', 'int', 'out'] },
  CreateCpuMemoryInfo: { at: 69, parameters: ['int', 'int', 'out'] },
  AllocatorFree: { at: 76, parameters: ['pointer', 'pointer'] },
  GetAllocatorWithDefaultOptions: { at: 78, parameters: ['out'] },
  AddSessionConfigEntry: { at: 130, parameters: ['pointer', 'string', 'string'] },
  CreateAllocator: { at: 131, parameters: ['pointer', 'pointer', 'out'] },
  RunWithBinding: { at: 133, parameters: ['pointer', 'pointer', 'pointer'] },
  CreateIoBinding: { at: 134, parameters: ['pointer', 'out'] },
  BindInput: { at: 136, parameters: ['pointer', 'string', 'pointer'] },
  BindOutput: { at: 137, parameters: ['pointer', 'string', 'pointer'] },
  BindOutputToDevice: { at: 138, parameters: ['pointer', 'string', 'pointer'] },
  GetBoundOutputValues: { at: 140, parameters: ['pointer', 'pointer', 'out', 'out size'] },
  SynchronizeBoundInputs: { at: 202, parameters: ['pointer'] },
  SynchronizeBoundOutputs: { at: 203, parameters: ['pointer'] },
  RegisterExecutionProviderLibrary: { at: 301, parameters: ['pointer', 'string', 'string'] },
  GetEpDevices: { at: 303, parameters: ['pointer', 'out', 'out size'] },
  SessionOptionsAppendExecutionProvider_V2: {
    at: 304,
    parameters: ['pointer', 'pointer', 'pointers', 'size', 'strings', 'strings', 'size'],
  },
  CopyTensors: { at: 386, parameters: ['pointer', 'pointers', 'pointers', 'pointer', 'size'] },
  SessionOptionsAppendExecutionProvider: {
    at: 216,
    parameters: ['pointer', 'string', 'strings', 'strings', 'size'],
  },
} as const satisfies Record<string, Signature>;

export type FunctionName = keyof typeof signatures;

/** Functions that return a value of a device, and no status. */
export const getters = {
  HardwareDevice_Type: { at: 307, result: 'int' },
  HardwareDevice_Vendor: { at: 309, result: 'const char *' },
  HardwareDevice_DeviceId: { at: 310, result: 'uint32_t' },
  EpDevice_EpMetadata: { at: 314, result: 'void *' },
  EpDevice_Device: { at: 316, result: 'void *' },
  EpDevice_MemoryInfo: { at: 374, result: 'void *' },
  GetKeyValue: { at: 297, result: 'const char *' },
} as const;

export type Getter = keyof typeof getters;

/** Functions that free what others have created. They return nothing. */
export const releases = {
  status: 93,
  memoryInfo: 94,
  session: 95,
  value: 96,
  typeInfo: 98,
  shapeInfo: 99,
  sessionOptions: 100,
  allocator: 132,
  binding: 135,
} as const;

export type Releasable = keyof typeof releases;

/** The function that returns the text of a status. */
export const errorMessageAt = 2;

/** Element types of tensors, as the header numbers them. */
export const elementTypes = {
  float32: 1,
  uint8: 2,
  int8: 3,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
} as const;
