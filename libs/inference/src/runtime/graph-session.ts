/*
 * What the scheduler needs of a loaded graph, without naming a runtime: `ort-session.ts` implements it, tests bring
 * their own.
 */

export type TensorType = 'float32' | 'float16' | 'int64' | 'int32' | 'uint8' | 'bool';

/** Data of a tensor. float16 travels as its bits in a Uint16Array (Node 20 knows no Float16Array), bool as bytes. */
export type TensorData = Float32Array | Uint16Array | BigInt64Array | Int32Array | Uint8Array;

/** A tensor on the host. Made by `GraphSession.tensor`; the data is read when the graph runs, not when it is made. */
export interface GraphTensor {
  readonly type: string;
  readonly dims: readonly number[];
  /** The buffer as the runtime holds it; float16 data may be any 16-bit view, read it with `float16Bits`. */
  readonly data: unknown;
}

/** One input or output. Dimensions that vary carry their name in the graph. */
export interface TensorDescription {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly (number | string)[];
}

/** One loaded graph. Runs one after the other; between two runs the event loop turns. */
export interface GraphSession {
  readonly inputs: readonly TensorDescription[];
  readonly outputs: readonly TensorDescription[];
  /** Execution provider that runs the graph. */
  readonly provider: string;
  /** Why providers that were preferred are not used; null when the first one is. */
  readonly providerNote: string | null;
  tensor(type: TensorType, data: TensorData, dims: readonly number[]): GraphTensor;
  /** Computes and returns the fetched outputs only. Rejects with the runtime's error. */
  run(feeds: Record<string, GraphTensor>, fetches: readonly string[]): Promise<Record<string, GraphTensor>>;
  release(): Promise<void>;
}
