import { dirname } from 'node:path';
import { productOf } from '#common/values';
import { GraphRunError } from '../graph-run-error.js';
import type {
  BoundRun,
  GraphDevice,
  GraphSession,
  GraphTensor,
  TensorData,
  TensorDescription,
  TensorType,
} from '../graph-session.js';
import type { ChosenProvider, SessionOptions } from '../session-options.js';
import { Binding, HeldTensor, type HostTensor } from './binding.js';
import { fatalOnly, OrtApi, type Pointer } from './ort-api.js';
import { isOfLibrary, libraryDevice, libraryMemory } from './provider-libraries.js';
import { elementTypes } from './signatures.js';
import { arrayOf, bytesPerElement } from './tensor-data.js';

/** Constants of the C API. */
const allOptimizations = 99;
const deviceAllocator = 0;
const defaultMemory = 0;

/**
 * Devices that are run through the C API, with the names of the provider and of its memory there. CUDA is not among them:
 * it has a function of its own to be added with, and has not been tried that way on a device.
 */
const devices = new Map([['webgpu', { provider: 'WebGPU', memory: 'WebGPU_Buffer' }]]);

/** Whether a provider is a device that is run through the C API. */
export function isDevice(provider: string): boolean {
  return devices.has(provider);
}

/** Whether tensors that stay with their graph are in the memory of a device. */
export function hasMemory(provider: string): boolean {
  return isOfLibrary(provider) ? libraryMemory(provider) !== null : isDevice(provider);
}

/** Descriptions of the memory of a session's tensors, and which of them it owns beside the graph. */
interface SessionMemory {
  host: Pointer;
  device: Pointer;
  owned: readonly Pointer[];
}

const typeNames = new Map<number, TensorType>(
  Object.entries(elementTypes).map(([name, code]) => [code, name as TensorType]),
);

/**
 * A graph in the runtime through its C API. Unlike those of `BindingSession`, `open` and `run` leave the event loop free:
 * the runtime works in a thread of libuv's pool. Handles are released with the session; those of a run, with the run.
 */
export class DeviceSession implements GraphSession, GraphDevice {
  readonly inputs: readonly TensorDescription[];
  readonly outputs: readonly TensorDescription[];
  readonly provider: string;
  readonly providerNote: string | null;
  /** Bytes of tensors that were copied from the host for runs and back, where the graph runs on a device. */
  bytesIn = 0;
  bytesOut = 0;
  readonly device: GraphDevice = this;
  /** The session that this one was opened beside, which counts its bytes too; null: none. */
  private besideOf: DeviceSession | null = null;
  private lastRun: Promise<unknown> = Promise.resolve();
  private isReleased = false;
  /** Tensors that were kept and are still held. */
  private readonly kept = new Set<HeldTensor>();
  private allocator: Pointer | null = null;

  private constructor(
    private readonly api: OrtApi,
    private readonly session: Pointer,
    private readonly memory: SessionMemory,
    { provider, providerNote }: ChosenProvider,
    private readonly graph: Pick<SessionOptions, 'modelPath' | 'intraOpThreads'>,
  ) {
    [this.provider, this.providerNote] = [provider, providerNote];
    this.inputs = this.describe('Input');
    this.outputs = this.describe('Output');
  }

  /**
   * Loads a graph on one provider; parts that it does not take run on the processor. Throws `OrtApiUnavailable` where
   * the C API cannot be used, and the text of the runtime for a graph or a provider that it refuses.
   */
  static async open(options: SessionOptions, chosen: ChosenProvider): Promise<DeviceSession> {
    const api = OrtApi.open();
    const session = await createSession(api, options, chosen.provider);
    // Owned here until the session object is complete: a graph may have what cannot be described.
    const owned: Pointer[] = [];
    try {
      const host = api.create('CreateCpuMemoryInfo', deviceAllocator, defaultMemory);
      owned.push(host);
      const device = deviceMemory(api, chosen.provider, owned) ?? host;
      // The bytes of the model are not held: they are freed once the session is open.
      const { modelPath, intraOpThreads } = options;
      return new DeviceSession(api, session, { host, device, owned }, chosen, { modelPath, intraOpThreads });
    } catch (error) {
      for (const memory of owned) api.release('memoryInfo', memory);
      api.release('session', session);
      throw error;
    }
  }

  get hasOwnMemory(): boolean {
    return this.memory.device !== this.memory.host;
  }

  tensor(type: TensorType, data: TensorData, dims: readonly number[]): GraphTensor {
    return { type, data, dims };
  }

  async run(feeds: Record<string, GraphTensor>, fetches: readonly string[]): Promise<Record<string, GraphTensor>> {
    return await this.inTurn(() => this.runNow(feeds, fetches));
  }

  async runKeeping(
    feeds: Record<string, GraphTensor>,
    fetches: readonly string[],
    kept: ReadonlySet<string>,
  ): Promise<Record<string, GraphTensor>> {
    return await this.inTurn(() => this.runBound(feeds, fetches, kept));
  }

  async release(): Promise<void> {
    await this.lastRun;
    if (this.isReleased) return;
    this.isReleased = true;
    for (const tensor of this.kept) tensor.release();
    if (this.allocator !== null) this.api.release('allocator', this.allocator);
    this.api.release('session', this.session);
    for (const memory of this.memory.owned) this.api.release('memoryInfo', memory);
  }

  /** Runs one after the other; what goes wrong is an error of inference with the text of the runtime. */
  private async inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const run = this.lastRun.then(async () => {
      try {
        if (this.isReleased) throw new Error('the session was released');
        return await work();
      } catch (cause) {
        throw new GraphRunError(this.provider, cause);
      }
    });
    this.lastRun = run.catch(() => undefined);
    return await run;
  }

  private async runNow(
    feeds: Record<string, GraphTensor>,
    fetches: readonly string[],
  ): Promise<Record<string, GraphTensor>> {
    const { api } = this;
    const inputs: HostTensor[] = [];
    const outputs: (Pointer | null)[] = fetches.map(() => null);
    try {
      const names = Object.keys(feeds);
      for (const name of names) inputs.push(this.hostTensor(name, feeds[name] as GraphTensor));
      const values = inputs.map(({ value }) => value);
      const called = [this.session, null, names, values, names.length, fetches, fetches.length, outputs];
      await api.callInThread('Run', ...called);
      return Object.fromEntries(fetches.map((name, index) => [name, this.read(outputs[index] as Pointer)]));
    } finally {
      for (const { value } of inputs) api.release('value', value);
      for (const value of outputs) if (value !== null) api.release('value', value);
    }
  }

  /** Binds inputs and outputs, so that they may be tensors of the device. */
  private async runBound(
    feeds: Record<string, GraphTensor>,
    fetches: readonly string[],
    kept: ReadonlySet<string>,
  ): Promise<Record<string, GraphTensor>> {
    const { api, session } = this;
    const binding = api.create('CreateIoBinding', session);
    const inputs: HostTensor[] = [];
    let values: Pointer[] = [];
    try {
      for (const [name, tensor] of Object.entries(feeds)) {
        const held = tensor instanceof HeldTensor ? tensor : null;
        if (held === null) inputs.push(this.hostTensor(name, tensor));
        api.call('BindInput', binding, name, held?.value ?? inputs.at(-1)?.value);
      }
      for (const name of fetches) {
        api.call('BindOutputToDevice', binding, name, kept.has(name) ? this.memory.device : this.memory.host);
      }
      api.call('SynchronizeBoundInputs', binding);
      await api.callInThread('RunWithBinding', session, null, binding);
      api.call('SynchronizeBoundOutputs', binding);
      values = this.boundOutputs(binding);
      return Object.fromEntries(
        fetches.map((name, index) => {
          const value = values[index] as Pointer;
          return [name, kept.has(name) ? this.keep(value) : this.read(value)];
        }),
      );
    } finally {
      const held = new Set([...this.kept].map(({ value }) => value));
      for (const { value } of inputs) api.release('value', value);
      for (const value of values) if (!held.has(value)) api.release('value', value);
      api.release('binding', binding);
    }
  }

  private boundOutputs(binding: Pointer): Pointer[] {
    const { api } = this;
    const allocator = api.create('GetAllocatorWithDefaultOptions');
    const [list, count]: [(Pointer | null)[], number[]] = [[null], [0]];
    api.call('GetBoundOutputValues', binding, allocator, list, count);
    const [first] = list;
    if (first === null || first === undefined) return [];
    const values = api.pointersAt(first, Number(count[0]));
    api.call('AllocatorFree', allocator, first);
    return values;
  }

  allocate(type: TensorType, dims: readonly number[]): HeldTensor {
    const { api } = this;
    this.allocator ??= api.create('CreateAllocator', this.session, this.memory.device);
    const shape = BigInt64Array.from(dims, BigInt);
    return this.keep(api.create('CreateTensorAsOrtValue', this.allocator, shape, dims.length, elementTypes[type]));
  }

  upload(tensor: GraphTensor): GraphTensor {
    if (!this.hasOwnMemory) return tensor;
    const held = this.allocate(tensor.type as TensorType, tensor.dims);
    const { value } = this.hostTensor('copy', tensor);
    try {
      this.api.call('CopyTensors', this.api.env, [value], [held.value], null, 1);
      return held;
    } catch (error) {
      held.release();
      throw error;
    } finally {
      this.api.release('value', value);
    }
  }

  bind(inputs: Record<string, GraphTensor>, outputs: Record<string, GraphTensor>): BoundRun {
    const binding = new Binding(this.api, this.session, (name, tensor) => this.valueOver(name, tensor));
    try {
      for (const [name, tensor] of Object.entries(inputs)) binding.bindInput(name, tensor);
      for (const [name, tensor] of Object.entries(outputs)) binding.bindOutput(name, tensor);
    } catch (error) {
      binding.release();
      throw error;
    }
    const run = async (): Promise<void> => {
      await binding.run();
      this.countBytes(binding.bytesIn, binding.bytesOut);
    };
    return { run: () => this.inTurn(run), release: () => binding.release() };
  }

  async openBeside(model: Uint8Array): Promise<GraphSession> {
    const options = { ...this.graph, model, spinning: false };
    const session = await DeviceSession.open(options, { provider: this.provider, providerNote: null });
    session.besideOf = this;
    return session;
  }

  private countBytes(bytesIn: number, bytesOut: number): void {
    this.bytesIn += bytesIn;
    this.bytesOut += bytesOut;
    this.besideOf?.countBytes(bytesIn, bytesOut);
  }

  private keep(value: Pointer): HeldTensor {
    const { api, kept } = this;
    const tensor: HeldTensor = new HeldTensor(value, this.shapeOf(value), {
      read: () => this.download(tensor),
      release: () => {
        kept.delete(tensor);
        api.release('value', value);
      },
    });
    kept.add(tensor);
    return tensor;
  }

  private download({ type, dims, value }: HeldTensor): TensorData {
    const { api } = this;
    if (!this.hasOwnMemory) return this.read(value).data as TensorData;
    const count = productOf(dims);
    const data = arrayOf(type, new ArrayBuffer(count * bytesPerElement(type)));
    const { value: target } = this.valueOver('copy', { type, dims, data });
    try {
      api.call('CopyTensors', api.env, [value], [target], null, 1);
    } finally {
      api.release('value', target);
    }
    this.countBytes(0, data.byteLength);
    return data;
  }

  /** Returns a tensor over the data of a feed, which is copied for the run. */
  private hostTensor(name: string, tensor: GraphTensor): HostTensor {
    const host = this.valueOver(name, tensor);
    this.countBytes(host.data.byteLength, 0);
    return host;
  }

  private valueOver(name: string, { type, data, dims }: GraphTensor): HostTensor {
    const code = (elementTypes as Partial<Record<string, number>>)[type];
    if (code === undefined || !ArrayBuffer.isView(data)) throw new Error(`${name}: there are no tensors of ${type}`);
    const shape = BigInt64Array.from(dims.map(BigInt));
    const described = [this.memory.host, data, data.byteLength, shape, dims.length, code];
    return { value: this.api.create('CreateTensorWithDataAsOrtValue', ...described), data };
  }

  private read(value: Pointer): GraphTensor {
    const { api } = this;
    const { type, dims } = this.shapeOf(value);
    const count = productOf(dims);
    const bytes = api.bytesAt(api.create('GetTensorMutableData', value), count * bytesPerElement(type));
    this.countBytes(0, bytes.byteLength);
    return { type, dims, data: arrayOf(type, bytes) };
  }

  private shapeOf(value: Pointer): { type: string; dims: number[] } {
    const info = this.api.create('GetTensorTypeAndShape', value);
    try {
      const { type, shape } = this.tensorInfo(info);
      return { type, dims: shape.map(Number) };
    } finally {
      this.api.release('shapeInfo', info);
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

async function createSession(api: OrtApi, options: SessionOptions, provider: string): Promise<Pointer> {
  const { modelPath, model } = options;
  const settings = api.create('CreateSessionOptions');
  try {
    applySettings(api, settings, options);
    if (provider !== 'cpu') appendProvider(api, settings, provider);
    const out: (Pointer | null)[] = [null];
    if (model === undefined) await api.callInThread('CreateSession', api.env, modelPath, settings, out);
    else await api.callInThread('CreateSessionFromArray', api.env, model, model.byteLength, settings, out);
    return out[0] as Pointer;
  } finally {
    api.release('sessionOptions', settings);
  }
}

/** Returns where tensors are that stay with their graph, and adds it to what the session owns; null: with the host's. */
function deviceMemory(api: OrtApi, provider: string, owned: Pointer[]): Pointer | null {
  if (isOfLibrary(provider)) return libraryMemory(provider);
  const device = devices.get(provider);
  if (device === undefined) return null;
  const memory = api.create('CreateMemoryInfo', device.memory, deviceAllocator, 0, defaultMemory);
  owned.push(memory);
  return memory;
}

function applySettings(api: OrtApi, settings: Pointer, options: SessionOptions): void {
  const { intraOpThreads, returnsMemory, spinning, model, modelPath, isWhole } = options;
  api.call('SetIntraOpNumThreads', settings, intraOpThreads);
  api.call('SetInterOpNumThreads', settings, 1);
  api.call('SetSessionGraphOptimizationLevel', settings, allOptimizations);
  api.call('DisableMemPattern', settings);
  api.call('SetSessionLogSeverityLevel', settings, fatalOnly);
  if (returnsMemory === true) api.call('DisableCpuMemArena', settings);
  if (spinning === false) api.call('AddSessionConfigEntry', settings, 'session.intra_op.allow_spinning', '0');
  if (isWhole === true) api.call('AddSessionConfigEntry', settings, 'session.disable_cpu_ep_fallback', '1');
  if (model !== undefined) {
    const folder = dirname(modelPath);
    api.call('AddSessionConfigEntry', settings, 'session.model_external_initializers_file_folder_path', folder);
  }
}

function appendProvider(api: OrtApi, settings: Pointer, provider: string): void {
  if (isOfLibrary(provider)) {
    const chosen = [libraryDevice(provider)];
    return api.call('SessionOptionsAppendExecutionProvider_V2', settings, api.env, chosen, 1, [], [], 0);
  }
  const name = devices.get(provider)?.provider ?? provider;
  api.call('SessionOptionsAppendExecutionProvider', settings, name, [], [], 0);
}
