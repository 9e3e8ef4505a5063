import { dirname } from 'node:path';
import { env, InferenceSession, listSupportedBackends, Tensor } from 'onnxruntime-node';
import { float16Bits } from './float16.js';
import { GraphRunError } from './graph-run-error.js';
import type { GraphSession, GraphTensor, TensorData, TensorDescription, TensorType } from './graph-session.js';
import type { ChosenProvider, SessionOptions } from './session-options.js';

// Errors are thrown; logging them too would print paths and duplicate them.
env.logLevel = 'fatal';

/**
 * A graph in onnxruntime-node. `run` and `open` block the thread. Spinning thread pools of several sessions slow each
 * other down 2 to 3 times unless all of them have `spinning: false`.
 *
 * The package is pinned to 1.30.0, which reads inputs in place. Later versions copy every input, and with it the whole
 * cache at every step.
 */
export class BindingSession implements GraphSession {
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

  /** Loads the graph on one provider. Rejects with the text of the runtime if that does not take it. */
  static async open(options: SessionOptions, { provider, providerNote }: ChosenProvider): Promise<BindingSession> {
    const { model, modelPath } = options;
    const settings = sessionOptions(provider, options);
    const session = await (model === undefined
      ? InferenceSession.create(modelPath, settings)
      : InferenceSession.create(model, settings));
    return new BindingSession(session, provider, providerNote);
  }

  tensor(type: TensorType, data: TensorData, dims: readonly number[]): GraphTensor {
    return new Tensor(type, data, dims);
  }

  /** Rejects with `INFERENCE_FAILED` and the operator's reason, which names operators and shapes of the graph. */
  async run(feeds: Record<string, GraphTensor>, fetches: readonly string[]): Promise<Record<string, GraphTensor>> {
    try {
      return await this.session.run(this.readable(feeds) as Record<string, Tensor>, fetches);
    } catch (cause) {
      throw new GraphRunError(this.provider, cause);
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

/** Whether the package has a provider: it drops unknown names silently. */
export function isProviderOfBuild(provider: string): boolean {
  return listSupportedBackends().some(({ name }) => name === provider);
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

function sessionOptions(provider: string, options: SessionOptions): InferenceSession.SessionOptions {
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

function extraSettings({ spinning, model, modelPath }: SessionOptions): Pick<InferenceSession.SessionOptions, 'extra'> {
  const session = {
    ...(spinning === false && { intra_op: { allow_spinning: '0' } }),
    ...(model !== undefined && { model_external_initializers_file_folder_path: dirname(modelPath) }),
  };
  return Object.keys(session).length > 0 ? { extra: { session } } : {};
}

function describe(metadata: InferenceSession.ValueMetadata): TensorDescription {
  if (!metadata.isTensor) return { name: metadata.name, type: 'not-a-tensor', shape: [] };
  return { name: metadata.name, type: metadata.type, shape: metadata.shape };
}
