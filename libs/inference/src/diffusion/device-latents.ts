import type { LatentTerms } from '#model-store/device';
import { type GraphDevice, type GraphSession, type GraphTensor, isKept, runKept } from '../runtime/graph-session.js';
import { HostLatents, pickOnHost } from './host-latents.js';
import type {
  GraphInput,
  KeptParts,
  LatentOperations,
  PickedRows,
  SteppedLatents,
  StepTerms,
} from './latent-operations.js';
import type { CleanFactors, SignalMix, StepFactors } from './scheduler.js';

type LatentGraphs = Pick<
  typeof import('#model-store/device'),
  'latentMaskGraph' | 'latentRowsGraph' | 'latentStepGraph'
>;

/** Returns the operations on latents that a network takes: on its device, or in host memory. */
export function latentsBeside(session: GraphSession): LatentOperations {
  const { device, provider } = session;
  return device === undefined ? new HostLatents(session) : new DeviceLatents(device, provider);
}

/**
 * Latents in the memory of a device. Small graphs compute with them there: only factors, positions and fresh noise cross
 * the bus.
 */
class DeviceLatents implements LatentOperations {
  /** Keyed by kind and terms. */
  private readonly graphs = new Map<string, Promise<GraphSession>>();

  constructor(
    private readonly device: GraphDevice,
    private readonly provider: string,
  ) {}

  place(data: Float32Array, dims: readonly number[]): GraphTensor {
    return this.device.upload({ type: 'float32', data, dims });
  }

  async pick(latents: GraphTensor, picked: PickedRows, target: GraphInput): Promise<GraphTensor> {
    const { session, input } = target;
    // A graph that the device refused runs on the processor.
    if (session.device === undefined || session.provider !== this.provider) {
      return pickOnHost({ data: this.read(latents), dims: latents.dims }, picked, target);
    }
    const description = session.inputs.find(({ name }) => name === input);
    const type = description?.type === 'float16' ? 'float16' : 'float32';
    const options = { rank: latents.dims.length, type } as const;
    const graph = await this.open('latentRowsGraph', options, (graphs) => graphs.latentRowsGraph(options));
    const rows = graph.tensor('int64', BigInt64Array.from(picked.rows, BigInt), [picked.rows.length]);
    const feeds = { latents, rows, factor: factorTensor(graph, picked.factor) };
    return (await runKept(graph, feeds, ['picked']))[0] as GraphTensor;
  }

  async step(
    { latents, outputs, guidance, lastClean, noise }: StepTerms,
    factors: StepFactors,
  ): Promise<SteppedLatents> {
    const terms: LatentTerms = {
      rank: latents.dims.length,
      parts: outputs.length,
      outputType: outputs[0]?.type === 'float16' ? 'float16' : 'float32',
      passes: guidance === null ? 1 : 2,
      hasLastClean: lastClean !== null,
      hasNoise: noise !== null,
      returnsClean: factors.clean !== null,
    };
    const graph = await this.open('latentStepGraph', terms, (graphs) => graphs.latentStepGraph(terms));
    const next = [
      ...passFactors(factors, guidance),
      ...(lastClean === null ? [] : [factors.lastClean]),
      ...(noise === null ? [] : [factors.noise]),
    ];
    const clean = factors.clean === null ? [] : passFactors(factors.clean, guidance);
    const feeds: Record<string, GraphTensor> = { latents };
    for (const [index, output] of outputs.entries()) feeds[`output.${index}`] = output;
    if (lastClean !== null) feeds['last_clean'] = lastClean;
    if (noise !== null) feeds['noise'] = graph.tensor('float32', noise, latents.dims);
    for (const [index, factor] of next.entries()) feeds[`next_factor.${index}`] = factorTensor(graph, factor);
    for (const [index, factor] of clean.entries()) feeds[`clean_factor.${index}`] = factorTensor(graph, factor);
    const fetches = ['next', ...(factors.clean === null ? [] : ['clean'])];
    const [stepped, estimated = null] = await runKept(graph, feeds, fetches);
    return { latents: stepped as GraphTensor, clean: estimated };
  }

  async restore(latents: GraphTensor, parts: KeptParts, mix: SignalMix): Promise<GraphTensor> {
    const options = { rank: latents.dims.length };
    const graph = await this.open('latentMaskGraph', options, (graphs) => graphs.latentMaskGraph(options));
    const [signal, noise] = [factorTensor(graph, mix.signal), factorTensor(graph, mix.noise)];
    const feeds = { latents, free: parts.free, clean: parts.clean, added: parts.noise, signal, noise };
    return (await runKept(graph, feeds, ['next']))[0] as GraphTensor;
  }

  read(latents: GraphTensor): Float32Array {
    return (isKept(latents) ? latents.read() : latents.data) as Float32Array;
  }

  async release(): Promise<void> {
    for (const graph of this.graphs.values()) await (await graph).release();
    this.graphs.clear();
  }

  /** Opens a graph of a kind once for each of its options. */
  private async open(
    kind: string,
    options: object,
    build: (graphs: LatentGraphs) => Uint8Array,
  ): Promise<GraphSession> {
    const key = `${kind} ${JSON.stringify(options)}`;
    const opened = this.graphs.get(key) ?? this.openNew(build);
    this.graphs.set(key, opened);
    try {
      return await opened;
    } catch (error) {
      this.graphs.delete(key);
      throw error;
    }
  }

  private async openNew(build: (graphs: LatentGraphs) => Uint8Array): Promise<GraphSession> {
    // Loaded on demand: processors need none of it.
    return await this.device.openBeside(build(await import('#model-store/device')));
  }
}

/** Returns the factors of the latents and of the output of each pass. */
function passFactors({ latents, output }: CleanFactors, guidance: number | null): number[] {
  return guidance === null ? [latents, output] : [latents, output * (1 - guidance), output * guidance];
}

function factorTensor(session: GraphSession, value: number): GraphTensor {
  return session.tensor('float32', Float32Array.of(value), [1]);
}
