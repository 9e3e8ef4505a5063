import { type RunShape, runBytes } from '#model-memory';
import type { LatentOperations } from '../../diffusion/latent-operations.js';
import { floatTensor, integerTensor } from '../../runtime/float-tensor.js';
import { type GraphSession, type GraphTensor, releaseKept, runKeeping } from '../../runtime/graph-session.js';
import type { EncodedPrompt } from './prompt-encoder.js';

/** Conditions that stay the same over all steps of images or a video. */
export interface DenoiserConditions {
  prompt: EncodedPrompt;
  /** Negative prompt, compared with the prompt at every step; null disables the comparison. */
  negative: EncodedPrompt | null;
  /** Guidance scale: distance from the negative prediction. */
  guidance: number;
  /** Images in one run; 1 for a video. */
  images: number;
  /** Null for an image, whose latents have no frame axis. */
  frames: number | null;
  /** Image size in pixels, for networks that take it as an input. */
  imageHeight: number;
  imageWidth: number;
  /** Width of the guidance embedding; null for networks without one. */
  guidanceDimensions: number | null;
  /** Memory of one row. */
  run: RunShape;
}

/** Rows of one run of the network. */
interface RowBatch {
  /** The image of each. */
  images: readonly number[];
  /** Inputs that stay the same over all steps. */
  fixed: Record<string, GraphTensor>;
}

/** Memory that the rows of a run may take together, in bytes; one row may take more. */
const maxBatchBytes = 512 * 2 ** 20;

/**
 * Runs the UNet for latents, without and with the prompt for classifier-free guidance (https://arxiv.org/abs/2207.12598).
 * Rows of a batch do not depend on each other, so large ones run one after another and memory is that of one row.
 * Released by `denoise`.
 */
export class Denoiser {
  /** Distance from the rows without the prompt, which are the first half; null if there are none. */
  readonly guidance: number | null;
  private readonly batches: readonly RowBatch[];

  constructor(
    private readonly session: GraphSession,
    private readonly operations: Pick<LatentOperations, 'pick'>,
    private readonly conditions: DenoiserConditions,
  ) {
    const { negative, guidance, images, imageHeight, imageWidth, frames, run } = conditions;
    this.guidance = negative === null ? null : guidance;
    const rowBytes = runBytes(run, { pixels: imageHeight * imageWidth, frames: frames ?? 1 });
    const size = Math.max(1, Math.floor(maxBatchBytes / rowBytes));
    const rows = (negative === null ? 1 : 2) * images;
    this.batches = Array.from({ length: Math.ceil(rows / size) }, (_, index) => {
      const [from, to] = [index * size, Math.min(rows, (index + 1) * size)];
      const ofRows = Array.from({ length: to - from }, (_, row) => (from + row) % images);
      return { images: ofRows, fixed: this.uploaded(this.fixedInputs(from, to)) };
    });
  }

  /** Returns the outputs for all rows at a timestep, one for each batch. Latents are scaled for the network first. */
  async run(latents: GraphTensor, { timestep, scale }: { timestep: number; scale: number }): Promise<GraphTensor[]> {
    const outputs: GraphTensor[] = [];
    try {
      for (const { images, fixed } of this.batches) {
        const target = { session: this.session, input: 'sample' };
        const sample = await this.operations.pick(latents, { rows: images, factor: scale }, target);
        outputs.push(await this.runRows(sample, fixed, timestep));
      }
      return outputs;
    } catch (error) {
      releaseKept(outputs);
      throw error;
    }
  }

  /** Frees what is kept on the device for the steps. */
  release(): void {
    for (const { fixed } of this.batches) releaseKept(Object.values(fixed));
  }

  /** On a device, the conditions cross the bus once and not at every step. */
  private uploaded(inputs: Record<string, GraphTensor>): Record<string, GraphTensor> {
    const { device } = this.session;
    if (device === undefined) return inputs;
    return Object.fromEntries(Object.entries(inputs).map(([name, tensor]) => [name, device.upload(tensor)]));
  }

  private async runRows(
    sample: GraphTensor,
    fixed: Record<string, GraphTensor>,
    timestep: number,
  ): Promise<GraphTensor> {
    const dims = this.timestepDims();
    const time = integerTensor(this.session, { input: 'timestep', data: [timestep], dims });
    const feeds = { ...fixed, sample, timestep: time };
    const output = this.session.outputs[0]?.name ?? '';
    try {
      return (await runKeeping(this.session, feeds, [output], new Set([output])))[output] as GraphTensor;
    } finally {
      releaseKept([sample]);
    }
  }

  private fixedInputs(from: number, to: number): Record<string, GraphTensor> {
    const { prompt, negative, images, imageHeight, imageWidth, guidanceDimensions, guidance } = this.conditions;
    // Sample order: all images without the prompt, then all with it.
    const kinds = negative === null ? [prompt] : [negative, prompt];
    const prompts = kinds.flatMap((encoded) => new Array<EncodedPrompt>(images).fill(encoded)).slice(from, to);
    const feeds: Record<string, GraphTensor> = {
      encoder_hidden_states: this.floats(
        'encoder_hidden_states',
        prompts.map(({ states }) => states),
        [prompt.tokens, prompt.width],
      ),
    };
    if (this.hasInput('text_embeds')) {
      const pooled = prompts.map((encoded) => encoded.pooled ?? new Float32Array());
      feeds['text_embeds'] = this.floats('text_embeds', pooled, [pooled[0]?.length ?? 0]);
    }
    if (this.hasInput('time_ids')) {
      // Original size, crop position and target size, for an image that was not cropped.
      const sizes = Float32Array.of(imageHeight, imageWidth, 0, 0, imageHeight, imageWidth);
      feeds['time_ids'] = this.floats(
        'time_ids',
        prompts.map(() => sizes),
        [6],
      );
    }
    if (guidanceDimensions !== null && this.hasInput('timestep_cond')) {
      const embedding = guidanceEmbedding(guidance - 1, guidanceDimensions);
      feeds['timestep_cond'] = this.floats(
        'timestep_cond',
        prompts.map(() => embedding),
        [guidanceDimensions],
      );
    }
    return feeds;
  }

  private floats(input: string, rows: readonly Float32Array[], dims: readonly number[]): GraphTensor {
    const data = new Float32Array(rows.reduce((sum, row) => sum + row.length, 0));
    rows.forEach((row, index) => data.set(row, index * row.length));
    return floatTensor(this.session, { input, data, dims: [rows.length, ...dims] });
  }

  private hasInput(input: string): boolean {
    return this.session.inputs.some(({ name }) => name === input);
  }

  /** Feeds the timestep as a scalar or as a list of one, because exports differ. */
  private timestepDims(): number[] {
    const shape = this.session.inputs.find(({ name }) => name === 'timestep')?.shape ?? [];
    return shape.length === 0 ? [] : [1];
  }
}

/**
 * Returns the guidance embedding of distilled networks: sines and cosines (https://arxiv.org/abs/2310.04378, section
 * 4.3).
 */
function guidanceEmbedding(guidance: number, dimensions: number): Float32Array {
  const half = Math.floor(dimensions / 2);
  const embedding = new Float32Array(dimensions);
  for (let index = 0; index < half; index++) {
    const angle = guidance * 1000 * Math.exp((-Math.log(10_000) * index) / (half - 1));
    embedding[index] = Math.sin(angle);
    embedding[half + index] = Math.cos(angle);
  }
  return embedding;
}
