import { joinFloats, productOf } from '#common/values';
import { floatsOf, floatTensor } from '../runtime/float-tensor.js';
import type { GraphSession, GraphTensor } from '../runtime/graph-session.js';
import type {
  GraphInput,
  KeptParts,
  LatentOperations,
  PickedRows,
  SteppedLatents,
  StepTerms,
} from './latent-operations.js';
import type { CleanFactors, SignalMix, StepFactors } from './scheduler.js';

/** Latents in host memory. */
export class HostLatents implements LatentOperations {
  constructor(private readonly session: Pick<GraphSession, 'tensor'>) {}

  place(data: Float32Array, dims: readonly number[]): GraphTensor {
    return this.session.tensor('float32', data, dims);
  }

  pick({ data, dims }: GraphTensor, picked: PickedRows, target: GraphInput): Promise<GraphTensor> {
    return Promise.resolve(pickOnHost({ data: data as Float32Array, dims }, picked, target));
  }

  step({ latents, outputs, guidance, lastClean, noise }: StepTerms, factors: StepFactors): Promise<SteppedLatents> {
    const values = this.read(latents);
    const output = guided(joinFloats(outputs.map(floatsOf)), guidance);
    const [before, fresh] = [lastClean === null ? null : this.read(lastClean), noise];
    const next = weighted(values, output, factors);
    for (let index = 0; index < next.length; index++) {
      if (before !== null) next[index] = (next[index] ?? 0) + factors.lastClean * (before[index] ?? 0);
      if (fresh !== null) next[index] = (next[index] ?? 0) + factors.noise * (fresh[index] ?? 0);
    }
    const clean = factors.clean === null ? null : this.place(weighted(values, output, factors.clean), latents.dims);
    return Promise.resolve({ latents: this.place(next, latents.dims), clean });
  }

  restore(latents: GraphTensor, parts: KeptParts, mix: SignalMix): Promise<GraphTensor> {
    const [free, clean, noise] = [this.read(parts.free), this.read(parts.clean), this.read(parts.noise)];
    const next = this.read(latents).map(
      (value, index) => value * (free[index] ?? 0) + mix.signal * (clean[index] ?? 0) + mix.noise * (noise[index] ?? 0),
    );
    return Promise.resolve(this.place(next, latents.dims));
  }

  read(latents: GraphTensor): Float32Array {
    return latents.data as Float32Array;
  }

  release(): Promise<void> {
    return Promise.resolve();
  }
}

/** Copies some images, times a factor, to the input of a graph. */
export function pickOnHost(
  { data, dims: [, ...size] }: { data: Float32Array; dims: readonly number[] },
  { rows, factor }: PickedRows,
  { session, input }: GraphInput,
): GraphTensor {
  const length = productOf(size);
  const picked = new Float32Array(rows.length * length);
  rows.forEach((row, index) => picked.set(data.subarray(row * length, (row + 1) * length), index * length));
  if (factor !== 1) picked.forEach((value, index) => (picked[index] = value * factor));
  return floatTensor(session, { input, data: picked, dims: [rows.length, ...size] });
}

function guided(outputs: Float32Array, guidance: number | null): Float32Array {
  if (guidance === null) return outputs;
  const half = outputs.length / 2;
  const withPrompt = outputs.subarray(half);
  return outputs.subarray(0, half).map((value, index) => value + guidance * ((withPrompt[index] ?? 0) - value));
}

function weighted(latents: Float32Array, output: Float32Array, factors: CleanFactors): Float32Array {
  return latents.map((value, index) => factors.latents * value + factors.output * (output[index] ?? 0));
}
