import { env, InferenceSession, listSupportedBackends, Tensor } from 'onnxruntime-node';
import { PlatformError } from '#common';
import { float16Bits } from './float16.js';
import type { GraphSession, GraphTensor, TensorData, TensorDescription, TensorType } from './graph-session.js';

// Errors come as exceptions; written to the terminal as well, they would name paths and come twice.
env.logLevel = 'fatal';

export interface OrtSessionOptions {
  /** Path of the `.onnx` file; its external data lies beside it under the names the graph gives. */
  modelPath: string;
  /** Execution providers in order of preference: `cuda`, `webgpu`, `cpu`. `cpu` is tried last in any case. */
  providers: readonly string[];
  /** Threads of one operator. */
  intraOpThreads: number;
  /**
   * Whether threads spin between runs; default true, so that decoding waits for no thread to wake. A process with
   * several sessions switches it off: the threads of one that has just run take the processors of the next.
   */
  spinning?: boolean;
}

/**
 * A graph in onnxruntime. `run` and `open` block the thread for their whole length. Thread pools of several sessions in
 * one process spin against each other, and each becomes 2 to 3 times slower unless all of them have `spinning: false`.
 *
 * onnxruntime-node is pinned to 1.30.0: it reads inputs where they lie; later versions copy every input, which for a
 * cache that is an input means copying the whole cache at every step.
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
   * Loads the graph on the first provider that takes it and says in `providerNote` why others were skipped. Throws
   * `INFERENCE_FAILED` when none does.
   */
  static async open(options: OrtSessionOptions): Promise<OrtSession> {
    const skipped: string[] = [];
    let lastError: unknown = null;
    // The library drops names it does not know without an error, so they are looked up first.
    const known = new Set(listSupportedBackends().map(({ name }) => name));
    for (const provider of providerOrder(options.providers)) {
      if (!known.has(provider)) {
        skipped.push(`${provider} skipped: not part of this build`);
        continue;
      }
      try {
        const session = await InferenceSession.create(options.modelPath, sessionOptions(provider, options));
        return new OrtSession(session, provider, skipped.length > 0 ? skipped.join('; ') : null);
      } catch (error) {
        lastError = error;
        skipped.push(`${provider} skipped: ${plainReason(error)}`);
      }
    }
    throw new PlatformError(
      'INFERENCE_FAILED',
      `The model's graph could not be loaded (${skipped.join('; ')}).`,
      null,
      {
        cause: lastError,
      },
    );
  }

  tensor(type: TensorType, data: TensorData, dims: readonly number[]): GraphTensor {
    return new Tensor(type, data, dims);
  }

  async run(feeds: Record<string, GraphTensor>, fetches: readonly string[]): Promise<Record<string, GraphTensor>> {
    if (!this.takesHalfFloats) return this.session.run(feeds as Record<string, Tensor>, fetches);
    const readable = Object.entries(feeds).map(([name, tensor]) => [name, withReadableData(tensor)]);
    return this.session.run(Object.fromEntries(readable) as Record<string, Tensor>, fetches);
  }

  async release(): Promise<void> {
    await this.session.release();
  }
}

/**
 * Where Node has a Float16Array (24), the package's tensors hold half floats in one, which its native part cannot read:
 * it takes the length for zero. It reads plain members, so the same tensor over the bits serves.
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
    // Shapes change from step to step, so a pattern planned for one step never fits the next.
    enableMemPattern: false,
    logSeverityLevel: 4,
    ...(options.spinning === false && { extra: { session: { intra_op: { allow_spinning: '0' } } } }),
  };
}

function providerOrder(preferred: readonly string[]): string[] {
  return [...new Set([...preferred, 'cpu'])];
}

/** What usual failures mean; otherwise the first line of the runtime's error without the paths of this machine. */
function plainReason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (/failed to load shared library/i.test(message)) return 'its libraries are not installed';
  if (/RequestAdapter|adapter_result/.test(message)) return 'no device was found';
  const firstLine = message.split('\n', 1)[0] ?? '';
  return firstLine.replace(/(?:\/[\w.@+-]+){2,}\/?/g, '…').slice(0, 200);
}

function describe(metadata: InferenceSession.ValueMetadata): TensorDescription {
  if (!metadata.isTensor) return { name: metadata.name, type: 'not-a-tensor', shape: [] };
  return { name: metadata.name, type: metadata.type, shape: metadata.shape };
}
