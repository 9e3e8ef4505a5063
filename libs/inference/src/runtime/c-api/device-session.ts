import { dirname } from 'node:path';
import { PlatformError } from '#common';
import type { GraphSession, GraphTensor, TensorData, TensorDescription, TensorType } from '../graph-session.js';
import { plainReason } from '../plain-reason.js';
import type { ChosenProvider, SessionOptions } from '../session-options.js';
import { fatalOnly, OrtApi, type Pointer } from './ort-api.js';
import { elementTypes } from './signatures.js';

/** Constants of the C API. */
const allOptimizations = 99;
const deviceAllocator = 0;
const defaultMemory = 0;

/** Names of providers in the C API. */
const providerNames: Record<string, string> = { webgpu: 'WebGPU', cuda: 'CUDA' };

const typeNames = new Map<number, TensorType>(
  Object.entries(elementTypes).map(([name, code]) => [code, name as TensorType]),
);

/**
 * A graph in the runtime through its C API. Unlike those of `BindingSession`, `open` and `run` leave the event loop free: the runtime
 * works in a thread of libuv's pool. Handles are released with the session; those of a run, with the run.
 */
export class DeviceSession implements GraphSession {
  readonly inputs: readonly TensorDescription[];
  readonly outputs: readonly TensorDescription[];
  private lastRun: Promise<unknown> = Promise.resolve();
  private isReleased = false;

  private constructor(
    private readonly api: OrtApi,
    private readonly session: Pointer,
    private readonly hostMemory: Pointer,
    readonly provider: string,
    readonly providerNote: string | null,
  ) {
    this.inputs = this.describe('Input');
    this.outputs = this.describe('Output');
  }

  /**
   * Loads a graph on one provider; parts that it does not take run on the processor. Throws `OrtApiUnavailable` where
   * the C API cannot be used, and the text of the runtime for a graph or a provider that it refuses.
   */
  static async open(options: SessionOptions, { provider, providerNote }: ChosenProvider): Promise<DeviceSession> {
    const api = OrtApi.open();
    const { modelPath, model } = options;
    const settings = api.create('CreateSessionOptions');
    try {
      applySettings(api, settings, options);
      if (provider !== 'cpu') appendProvider(api, settings, provider);
      const out: (Pointer | null)[] = [null];
      if (model === undefined) await api.callInThread('CreateSession', api.env, modelPath, settings, out);
      else await api.callInThread('CreateSessionFromArray', api.env, model, model.byteLength, settings, out);
      const hostMemory = api.create('CreateCpuMemoryInfo', deviceAllocator, defaultMemory);
      return new DeviceSession(api, out[0] as Pointer, hostMemory, provider, providerNote);
    } finally {
      api.release('sessionOptions', settings);
    }
  }

  tensor(type: TensorType, data: TensorData, dims: readonly number[]): GraphTensor {
    return { type, data, dims };
  }

  async run(feeds: Record<string, GraphTensor>, fetches: readonly string[]): Promise<Record<string, GraphTensor>> {
    const run = this.lastRun.then(() => this.runNow(feeds, fetches));
    this.lastRun = run.catch(() => undefined);
    return await run;
  }

  async release(): Promise<void> {
    await this.lastRun;
    if (this.isReleased) return;
    this.isReleased = true;
    this.api.release('session', this.session);
    this.api.release('memoryInfo', this.hostMemory);
  }

  private async runNow(
    feeds: Record<string, GraphTensor>,
    fetches: readonly string[],
  ): Promise<Record<string, GraphTensor>> {
    const { api } = this;
    const inputs: Pointer[] = [];
    const outputs: (Pointer | null)[] = fetches.map(() => null);
    try {
      if (this.isReleased) throw new Error('the session was released');
      const names = Object.keys(feeds);
      for (const name of names) inputs.push(this.valueOf(name, feeds[name] as GraphTensor));
      const called = [this.session, null, names, inputs, names.length, fetches, fetches.length, outputs];
      await api.callInThread('Run', ...called);
      return Object.fromEntries(fetches.map((name, index) => [name, this.read(outputs[index] as Pointer)]));
    } catch (cause) {
      const options = { cause, reason: plainReason(cause) };
      throw new PlatformError('INFERENCE_FAILED', 'The service failed to answer this request.', null, options);
    } finally {
      for (const value of [...inputs, ...outputs]) if (value !== null) api.release('value', value);
    }
  }

  /** A tensor over the data of a feed, which the caller keeps during the run. */
  private valueOf(name: string, { type, data, dims }: GraphTensor): Pointer {
    const code = (elementTypes as Partial<Record<string, number>>)[type];
    if (code === undefined || !ArrayBuffer.isView(data)) throw new Error(`${name}: there are no tensors of ${type}`);
    const shape = BigInt64Array.from(dims.map(BigInt));
    const memory = this.hostMemory;
    return this.api.create('CreateTensorWithDataAsOrtValue', memory, data, data.byteLength, shape, dims.length, code);
  }

  private read(value: Pointer): GraphTensor {
    const { api } = this;
    const info = api.create('GetTensorTypeAndShape', value);
    try {
      const { type, shape } = this.tensorInfo(info);
      const dims = shape.map(Number);
      const count = dims.reduce((product, size) => product * size, 1);
      const bytes = api.bytesAt(api.create('GetTensorMutableData', value), count * bytesPerElement(type));
      return { type, dims, data: arrayOf(type, bytes) };
    } finally {
      api.release('shapeInfo', info);
    }
  }

  private describe(side: 'Input' | 'Output'): TensorDescription[] {
    const { api, session } = this;
    const allocator = api.create('GetAllocatorWithDefaultOptions');
    return Array.from({ length: api.number(`SessionGet${side}Count`, session) }, (_, index) => {
      const namePointer = api.create(`SessionGet${side}Name`, session, index, allocator);
      const name = api.textAt(namePointer);
      api.call('AllocatorFree', allocator, namePointer);
      const typeInfo = api.create(`SessionGet${side}TypeInfo`, session, index);
      try {
        // Part of `typeInfo`, and null for what is no tensor.
        const info = api.create('CastTypeInfoToTensorInfo', typeInfo);
        return info === null ? { name, type: 'not-a-tensor', shape: [] } : { name, ...this.tensorInfo(info) };
      } finally {
        api.release('typeInfo', typeInfo);
      }
    });
  }

  private tensorInfo(info: Pointer): Omit<TensorDescription, 'name'> {
    const { api } = this;
    const code = api.number('GetTensorElementType', info);
    const rank = api.number('GetDimensionsCount', info);
    const sizes = new BigInt64Array(rank);
    const names: (string | null)[] = Array.from({ length: rank }, () => null);
    if (rank > 0) {
      api.call('GetDimensions', info, sizes, rank);
      api.call('GetSymbolicDimensions', info, names, rank);
    }
    const shape = [...sizes].map((size, index) => (size >= 0n ? Number(size) : (names[index] ?? '')));
    return { type: typeNames.get(code) ?? `type ${code}`, shape };
  }
}

function applySettings(api: OrtApi, settings: Pointer, options: SessionOptions): void {
  const { intraOpThreads, returnsMemory, spinning, model, modelPath } = options;
  api.call('SetIntraOpNumThreads', settings, intraOpThreads);
  api.call('SetInterOpNumThreads', settings, 1);
  api.call('SetSessionGraphOptimizationLevel', settings, allOptimizations);
  api.call('DisableMemPattern', settings);
  api.call('SetSessionLogSeverityLevel', settings, fatalOnly);
  if (returnsMemory === true) api.call('DisableCpuMemArena', settings);
  if (spinning === false) api.call('AddSessionConfigEntry', settings, 'session.intra_op.allow_spinning', '0');
  if (model !== undefined) {
    const folder = dirname(modelPath);
    api.call('AddSessionConfigEntry', settings, 'session.model_external_initializers_file_folder_path', folder);
  }
}

function appendProvider(api: OrtApi, settings: Pointer, provider: string): void {
  const name = providerNames[provider] ?? provider;
  api.call('SessionOptionsAppendExecutionProvider', settings, name, [], [], 0);
}

function bytesPerElement(type: string): number {
  if (type === 'int64') return 8;
  if (type === 'float16') return 2;
  return type === 'uint8' || type === 'bool' ? 1 : 4;
}

function arrayOf(type: string, bytes: ArrayBuffer): TensorData {
  switch (type) {
    case 'float32':
      return new Float32Array(bytes);
    case 'float16':
      return new Uint16Array(bytes);
    case 'int64':
      return new BigInt64Array(bytes);
    case 'int32':
      return new Int32Array(bytes);
    case 'uint8':
    case 'bool':
      return new Uint8Array(bytes);
    default:
      throw new Error(`there are no tensors of ${type}`);
  }
}
