import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type Koffi from 'koffi';
import type { KoffiFunc } from 'koffi';
import { errorText } from '#common/values';
import { runtimeVersion } from '../runtime-version.js';
import {
  errorMessageAt,
  type FunctionName,
  type Getter,
  getters,
  type ParameterType,
  type Releasable,
  releases,
  signatures,
  tableVersion,
} from './signatures.js';

/** Level of the runtime's log: its errors are thrown. */
export const fatalOnly = 4;

/** An address in the runtime. */
export type Pointer = bigint;

type NativeFunction = KoffiFunc<(...values: unknown[]) => unknown>;

const require = createRequire(import.meta.url);

/** By platform, the library that onnxruntime-node ships and has loaded: the same file is the same runtime. */
const libraryNames: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'libonnxruntime.so.1',
  darwin: 'libonnxruntime.1.dylib',
  win32: 'onnxruntime.dll',
};

/** Why the C API cannot be used on this machine. */
export class OrtApiUnavailable extends Error {
  override readonly name = 'OrtApiUnavailable';
}

/** The C API of the runtime, with its errors as exceptions. Addresses that it returns are owned by the caller. */
export class OrtApi {
  private static opened: OrtApi | null = null;
  private readonly functions = new Map<FunctionName, NativeFunction>();
  private readonly releasers = new Map<Releasable, NativeFunction>();
  private readonly errorMessage: NativeFunction;
  /** The environment of this process, which the binding shares. It is never released: sessions need it until the end. */
  readonly env: Pointer;

  private constructor(
    private readonly koffi: typeof Koffi,
    private readonly table: Pointer[],
  ) {
    this.errorMessage = this.native(errorMessageAt, 'const char *', ['void *']);
    this.env = this.create('CreateEnv', fatalOnly, 'sluice');
  }

  /** Opens the library once. Throws `OrtApiUnavailable`. */
  static open(): OrtApi {
    return (OrtApi.opened ??= OrtApi.load());
  }

  private static load(): OrtApi {
    const koffi = loadKoffi();
    const [getApi, getVersion] = apiBaseOf(koffi);
    const version = koffi.call(getVersion, koffi.proto('const char *', [])) as string;
    if (version !== runtimeVersion) {
      throw new OrtApiUnavailable(`the runtime is ${version} and not ${runtimeVersion}`);
    }
    const api = koffi.call(getApi, koffi.proto('void *', ['uint32_t']), tableVersion) as Pointer | null;
    if (api === null) throw new OrtApiUnavailable(`the runtime has no functions of version ${tableVersion}`);
    const called = [...Object.values(signatures), ...Object.values(getters)].map(({ at }) => at);
    const places = [...called, ...Object.values(releases), errorMessageAt];
    const table = koffi.decode(api, koffi.array('void *', Math.max(...places) + 1)) as Pointer[];
    return new OrtApi(koffi, table);
  }

  /** Calls a function. Throws the text of the runtime if it fails. */
  call(name: FunctionName, ...values: unknown[]): void {
    this.check(this.function(name)(...values) as Pointer | null);
  }

  /** Calls a function in a thread, so that the event loop runs meanwhile. Rejects with the text of the runtime. */
  async callInThread(name: FunctionName, ...values: unknown[]): Promise<void> {
    const call = this.function(name);
    const status = await new Promise<unknown>((resolve, reject) => {
      call.async(...values, (error: unknown, result: unknown) => (error === null ? resolve(result) : reject(error)));
    });
    this.check(status as Pointer | null);
  }

  /** Calls a function whose last parameter is `out`, and returns what it sets. */
  create(name: FunctionName, ...values: unknown[]): Pointer {
    const out: unknown[] = [null];
    this.call(name, ...values, out);
    return out[0] as Pointer;
  }

  /** As `create`, of a number. */
  number(name: FunctionName, ...values: unknown[]): number {
    const out: unknown[] = [0];
    this.call(name, ...values, out);
    return Number(out[0]);
  }

  /** Returns a value of a device: a number, a text or an address, as the function has it. */
  get(name: Getter, pointer: Pointer, key?: string | number): unknown {
    const { at, result } = getters[name];
    if (key === undefined) return this.native(at, result, ['void *'])(pointer);
    return this.native(at, result, ['void *', typeof key === 'number' ? 'int' : 'const char *'])(pointer, key);
  }

  release(kind: Releasable, pointer: Pointer): void {
    const known = this.releasers.get(kind) ?? this.native(releases[kind], 'void', ['void *']);
    this.releasers.set(kind, known);
    known(pointer);
  }

  textAt(pointer: Pointer): string {
    return this.koffi.decode.string(pointer);
  }

  /** Returns the addresses in a list of the runtime. */
  pointersAt(list: Pointer, count: number): Pointer[] {
    return this.koffi.decode(list, this.koffi.array('void *', count)) as Pointer[];
  }

  /** Returns a copy of memory of the runtime. */
  bytesAt(pointer: Pointer, length: number): ArrayBuffer {
    return length === 0 ? new ArrayBuffer(0) : this.koffi.view(pointer, length).slice(0);
  }

  private check(status: Pointer | null): void {
    if (status === null) return;
    const message = this.errorMessage(status) as string;
    this.release('status', status);
    throw new Error(message);
  }

  private function(name: FunctionName): NativeFunction {
    const known = this.functions.get(name);
    if (known !== undefined) return known;
    const { at, parameters } = signatures[name];
    const opened = this.native(
      at,
      'void *',
      parameters.map((type) => this.typeOf(type)),
    );
    this.functions.set(name, opened);
    return opened;
  }

  private native(at: number, result: string, parameters: (string | object)[]): NativeFunction {
    const address = this.table[at];
    if (address === undefined) throw new OrtApiUnavailable(`the runtime has no function ${at}`);
    return this.koffi.decode(address, this.koffi.proto(result, parameters as string[])) as NativeFunction;
  }

  private typeOf(type: ParameterType): string | object {
    const { koffi } = this;
    const types: Record<ParameterType, () => string | object> = {
      pointer: () => 'void *',
      pointers: () => 'void **',
      // A path is wide on Windows only.
      string: () => 'const char *',
      strings: () => 'const char **',
      bytes: () => 'void *',
      int: () => 'int',
      size: () => 'size_t',
      int64s: () => 'int64_t *',
      out: () => koffi.out('void **'),
      'out[]': () => koffi.inout('void **'),
      'out int': () => koffi.out('int *'),
      'out size': () => koffi.out('size_t *'),
      'out int64s': () => koffi.out('int64_t *'),
      'out strings': () => koffi.out('const char **'),
    };
    return types[type]();
  }
}

/** The package is optional, because it has no library for some machines. */
function loadKoffi(): typeof Koffi {
  try {
    const koffi = require('koffi') as typeof Koffi;
    // Threads of asynchronous calls get a stack from the package; optimizing a graph takes more than its 128 kB.
    koffi.config({ async_stack_size: 8 * 2 ** 20, resident_async_pools: 2 });
    return koffi;
  } catch (error) {
    throw new OrtApiUnavailable(`koffi cannot be loaded: ${errorText(error)}`);
  }
}

/** Held for as long as the process lives: a library that is collected is unloaded, with its functions. */
let library: ReturnType<typeof Koffi.load> | null = null;

/** The first two members of the base: functions that return a table, and the version of the library. */
function apiBaseOf(koffi: typeof Koffi): [Pointer, Pointer] {
  const name = libraryNames[process.platform];
  if (name === undefined) throw new OrtApiUnavailable(`there is no library for ${process.platform}`);
  try {
    const folder = dirname(require.resolve('onnxruntime-node/package.json'));
    library ??= koffi.load(join(folder, 'bin', 'napi-v6', process.platform, process.arch, name));
    const base: unknown = library.func('OrtGetApiBase', 'void *', [])();
    return koffi.decode(base, koffi.array('void *', 2)) as [Pointer, Pointer];
  } catch (error) {
    throw new OrtApiUnavailable(`the runtime's library cannot be loaded: ${errorText(error)}`);
  }
}
