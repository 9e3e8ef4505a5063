import type { CacheScales } from '#model-store/device';

/** How a graph is opened, in whichever runtime session. */
export interface SessionOptions {
  /** Path of the `.onnx` file; its external data is beside it under the names in the graph. */
  modelPath: string;
  /** Content of another graph to run in its place, with the same external data; absent: the file's. */
  model?: Uint8Array;
  /** Threads per operator. */
  intraOpThreads: number;
  /**
   * Whether threads spin between runs; default true, so that decoding does not wait for threads to wake. A process with
   * several sessions disables it, because spinning threads take CPU time from the next session.
   */
  spinning?: boolean;
  /**
   * Whether memory of a run is given back after it; default false, which is faster for the many small tensors of text.
   * Graphs that take whole images enable it: the arena would keep the memory of the largest image, and take up to twice as much.
   */
  returnsMemory?: boolean;
  /**
   * Outputs that are fetched; default: any. Others are left out of the graph: the runtime would keep them during a run,
   * such as the attention of every layer.
   */
  outputs?: readonly string[];
  /** The graph is a decoder, whose cache may stay on a device that writes it in place; default false. */
  isDecoder?: boolean;
  /**
   * On the processor, the cache of a decoder is written in place, in floats or with scales of each layer in 8 bits;
   * absent: it is an input of every run, as models are served (`docs/decisions/int8-caches.md`).
   */
  cacheInPlace?: 'float32' | readonly CacheScales[];
  /** Whether a decoder is to return the logits of any places of a run, where its layout allows that; default false. */
  picksLogits?: boolean;
  /** Refuses a graph of which a part would run on the processor, and its values cross the bus; default false. */
  isWhole?: boolean;
}

/** The provider that runs a graph, and why those before it, or all that it can do, are not used; null otherwise. */
export interface ChosenProvider {
  provider: string;
  providerNote: string | null;
}
