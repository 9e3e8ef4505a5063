/*
 * Interface between scheduler and a loaded graph, independent of the runtime. `ort-session.ts` implements it; tests
 * provide fakes.
 */

export type TensorType = 'float32' | 'float16' | 'int64' | 'int32' | 'int8' | 'uint8' | 'bool';

/** Tensor data. float16 is passed as bits in a Uint16Array (Node 20 has no Float16Array), bool as bytes. */
export type TensorData = Float32Array | Uint16Array | BigInt64Array | Int32Array | Int8Array | Uint8Array;

/** A tensor in host memory, created by `GraphSession.tensor`. Its data is read when the graph runs, not on creation. */
export interface GraphTensor {
  readonly type: string;
  readonly dims: readonly number[];
  /** The runtime's buffer. float16 data may be any 16-bit view; read it with `float16Bits`. */
  readonly data: unknown;
}

/** A tensor that stays where its graph runs. Graphs on the same device take it, and whoever holds it releases it once. */
export interface KeptTensor extends GraphTensor {
  /** Copies the values to the host. Throws the text of the runtime. */
  read(): TensorData;
  release(): void;
}

export function isKept(tensor: GraphTensor): tensor is KeptTensor {
  return 'release' in tensor;
}

/** Releases those of the tensors that are kept. */
export function releaseKept(tensors: Iterable<GraphTensor>): void {
  for (const tensor of tensors) if (isKept(tensor)) tensor.release();
}

/** Runs a graph. The outputs named in `kept` stay where it runs, if they can. */
export function runKeeping(
  session: GraphSession,
  feeds: Record<string, GraphTensor>,
  fetches: readonly string[],
  kept: ReadonlySet<string>,
): Promise<Record<string, GraphTensor>> {
  return session.runKeeping?.(feeds, fetches, kept) ?? session.run(feeds, fetches);
}

/** Runs a small graph beside that of a model, whose outputs all stay where it runs. Returns them in the order of `names`. */
export async function runKept(
  session: GraphSession,
  feeds: Record<string, GraphTensor>,
  names: readonly string[],
): Promise<KeptTensor[]> {
  const outputs = await runKeeping(session, feeds, names, new Set(names));
  return names.map((name) => outputs[name] as KeptTensor);
}

/** An input or output. Dynamic dimensions have their name in the graph. */
export interface TensorDescription {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly (number | string)[];
}

/** A loaded graph. Runs are sequential; the event loop runs between two of them. */
export interface GraphSession {
  readonly inputs: readonly TensorDescription[];
  readonly outputs: readonly TensorDescription[];
  /** Execution provider that runs the graph. */
  readonly provider: string;
  /** Why preferred providers are not used; null if the first one is. */
  readonly providerNote: string | null;
  tensor(type: TensorType, data: TensorData, dims: readonly number[]): GraphTensor;
  /** Computes and returns only the fetched outputs. Rejects with the runtime's error. */
  run(feeds: Record<string, GraphTensor>, fetches: readonly string[]): Promise<Record<string, GraphTensor>>;
  /** As `run`, but the outputs named in `kept` are returned as `KeptTensor`s. Absent where all tensors are on the host. */
  runKeeping?(
    feeds: Record<string, GraphTensor>,
    fetches: readonly string[],
    kept: ReadonlySet<string>,
  ): Promise<Record<string, GraphTensor>>;
  /** Where tensors can stay with the graph; absent where all of them are on the host. */
  readonly device?: GraphDevice;
  release(): Promise<void>;
}

/** A run whose inputs and outputs are bound once. Host tensors among them are read and written in place. */
export interface BoundRun {
  /** Rejects with the runtime's error. */
  run(): Promise<void>;
  /** Leaves the tensors to their holders. */
  release(): void;
}

/** The memory in which a graph runs. */
export interface GraphDevice {
  /** Whether its tensors are in another memory than the host's. */
  readonly hasOwnMemory: boolean;
  /** Returns a tensor whose values are not set. */
  allocate(type: TensorType, dims: readonly number[]): KeptTensor;
  /** Returns a copy of a host tensor on the device; the tensor itself where the device has no memory of its own. */
  upload(tensor: GraphTensor): GraphTensor;
  /** The same kept tensor may be an input and an output, where the graph's operator writes it in place. */
  bind(inputs: Record<string, GraphTensor>, outputs: Record<string, GraphTensor>): BoundRun;
  /** Opens a small graph that takes kept tensors of this one. */
  openBeside(model: Uint8Array): Promise<GraphSession>;
  /** Bytes of tensors that were copied from the host and back by now, for this graph and those opened beside it. */
  readonly bytesIn: number;
  readonly bytesOut: number;
}
