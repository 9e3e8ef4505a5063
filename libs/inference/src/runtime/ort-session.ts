import { basename, dirname } from 'node:path';
import { env, InferenceSession, listSupportedBackends, Tensor } from 'onnxruntime-node';
import { PlatformError } from '#common';
import { errorText } from '#common/values';
import { freeBytes } from '#platform/memory';
import { float16Bits } from './float16.js';
import type { GraphSession, GraphTensor, TensorData, TensorDescription, TensorType } from './graph-session.js';

// Errors are thrown; logging them too would print paths and duplicate them.
env.logLevel = 'fatal';

export interface OrtSessionOptions {
  /** Path of the `.onnx` file; its external data is beside it under the names in the graph. */
  modelPath: string;
  /** Content of another graph to run in its place, with the same external data; absent: the file's. */
  model?: Uint8Array;
  /** Execution providers in order of preference: `cuda`, `webgpu`, `cpu`. No other is tried. */
  providers: readonly string[];
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
}

/**
 * A graph in onnxruntime. `run` and `open` block the thread. Spinning thread pools of several sessions slow each other
 * down 2 to 3 times unless all of them have `spinning: false`.
 *
 * onnxruntime-node is pinned to 1.30.0, which reads inputs in place. Later versions copy every input, and with it the
 * whole cache at every step.
 */
export class OrtSession implements GraphSession {
  readonly inputs: readonly TensorDescription[];
  readonly outputs: readonly TensorDescription[];
  private readonly takesHalfFloats: boolean;

  private constructor(
    private readonly session: InferenceSession,
    readonly provider: string,
    readonly providerNote: string | null,
  ) {
    this.inputs = session.inputMetadata.map(describe);
    this.outputs = session.outputMetadata.map(describe);
    this.takesHalfFloats = this.inputs.some(({ type }) => type === 'float16');
  }

  /**
   * Loads the graph on the first provider that supports it; `providerNote` tells why others were skipped. Throws
   * `INFERENCE_FAILED` if none does.
   */
  static async open(options: OrtSessionOptions): Promise<OrtSession> {
    const reduced = options.model === undefined ? await withFetchedOutputs(options) : null;
    if (reduced === null) return await OrtSession.openGraph(options);
    try {
      return await OrtSession.openGraph({ ...options, model: reduced });
    } finally {
      freeBytes(reduced);
    }
  }

  private static async openGraph(options: OrtSessionOptions): Promise<OrtSession> {
    const skipped: string[] = [];
    let lastError: unknown = null;
    // The library silently drops unknown names, so they are checked first.
    const known = new Set(listSupportedBackends().map(({ name }) => name));
    for (const provider of new Set(options.providers)) {
      if (!known.has(provider)) {
        skipped.push(`${provider} skipped: not part of this build`);
        continue;
      }
      try {
        const { model, modelPath } = options;
        const settings = sessionOptions(provider, options);
        const session = await (model === undefined
          ? InferenceSession.create(modelPath, settings)
          : InferenceSession.create(model, settings));
        return new OrtSession(session, provider, skipped.length > 0 ? skipped.join('; ') : null);
      } catch (error) {
        lastError = error;
        skipped.push(`${provider} skipped: ${plainReason(error)}`);
      }
    }
    throw new PlatformError(
      'INFERENCE_FAILED',
      `The model's graph could not be loaded (${explainSkipped(skipped, options.providers)}).`,
      null,
      { cause: lastError },
    );
  }

  tensor(type: TensorType, data: TensorData, dims: readonly number[]): GraphTensor {
    return new Tensor(type, data, dims);
  }

  /** Rejects with `INFERENCE_FAILED` and the operator's reason, which names operators and shapes of the graph. */
  async run(feeds: Record<string, GraphTensor>, fetches: readonly string[]): Promise<Record<string, GraphTensor>> {
    try {
      return await this.session.run(this.readable(feeds) as Record<string, Tensor>, fetches);
    } catch (cause) {
      const options = { cause, reason: plainReason(cause) };
      throw new PlatformError('INFERENCE_FAILED', 'The service failed to answer this request.', null, options);
    }
  }

  private readable(feeds: Record<string, GraphTensor>): Record<string, GraphTensor> {
    if (!this.takesHalfFloats) return feeds;
    return Object.fromEntries(Object.entries(feeds).map(([name, tensor]) => [name, withReadableData(tensor)]));
  }

  async release(): Promise<void> {
    await this.session.release();
  }
}

/** Returns null for a graph of which every output is fetched, and for one that the runtime has to refuse. */
async function withFetchedOutputs({ modelPath, outputs }: OrtSessionOptions): Promise<Uint8Array | null> {
  if (outputs === undefined) return null;
  // Loaded on demand: most graphs return nothing else.
  const { keepOutputs } = await import('#model-store/memory');
  const graph = { folder: dirname(modelPath), graphFile: basename(modelPath) };
  return await keepOutputs(graph, outputs).catch(() => null);
}

/**
 * Returns a tensor over the bits of half floats. Where Node has a Float16Array (24), the package's native part cannot
 * read it: it takes the length for zero. It reads plain members, so a tensor object over the bits works.
 */
function withReadableData(tensor: GraphTensor): GraphTensor {
  if (tensor.type !== 'float16' || tensor.data instanceof Uint16Array) return tensor;
  const readable = { type: tensor.type, dims: tensor.dims, data: float16Bits(tensor), location: 'cpu' };
  return readable;
}

function sessionOptions(provider: string, options: OrtSessionOptions): InferenceSession.SessionOptions {
  return {
    executionProviders: provider === 'cpu' ? ['cpu'] : [provider, 'cpu'],
    intraOpNumThreads: options.intraOpThreads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    // Shapes change from step to step, so a planned memory pattern never fits the next step.
    enableMemPattern: false,
    ...(options.returnsMemory === true && { enableCpuMemArena: false }),
    logSeverityLevel: 4,
    ...extraSettings(options),
  };
}

function extraSettings({
  spinning,
  model,
  modelPath,
}: OrtSessionOptions): Pick<InferenceSession.SessionOptions, 'extra'> {
  const session = {
    ...(spinning === false && { intra_op: { allow_spinning: '0' } }),
    ...(model !== undefined && { model_external_initializers_file_folder_path: dirname(modelPath) }),
  };
  return Object.keys(session).length > 0 ? { extra: { session } } : {};
}

function explainSkipped(skipped: readonly string[], providers: readonly string[]): string {
  return [...skipped, ...(providers.includes('cpu') ? [] : ['cpu is not among the providers'])].join('; ');
}

/** Explains common failures of the runtime; otherwise returns the first line of the runtime's error without local paths. */
export function plainReason(error: unknown): string {
  const message = errorText(error);
  if (/failed to load shared library/i.test(message)) return 'its libraries are not installed';
  if (/RequestAdapter|adapter_result/.test(message)) return 'no device was found';
  const firstLine = message.split('\n', 1)[0] ?? '';
  return firstLine.replace(/(?:\/[\w.@+-]+){2,}\/?/g, '…').slice(0, 200);
}

function describe(metadata: InferenceSession.ValueMetadata): TensorDescription {
  if (!metadata.isTensor) return { name: metadata.name, type: 'not-a-tensor', shape: [] };
  return { name: metadata.name, type: metadata.type, shape: metadata.shape };
}
