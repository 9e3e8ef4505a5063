import { type RunShape, runBytes } from '#model-memory';
import { floatTensor, floatsOf, integerTensor } from '../../runtime/float-tensor.js';
import { type GraphSession, type GraphTensor, releaseKept } from '../../runtime/graph-session.js';
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
  /** Size of the latents of one image. */
  channels: number;
  /** Null for an image, whose latents have no frame axis. */
  frames: number | null;
  height: number;
  width: number;
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
  /** Position of the first one, and of the one after the last. */
  from: number;
  to: number;
  /** Inputs that stay the same over all steps. */
  fixed: Record<string, GraphTensor>;
}

/** Memory that the rows of a run may take together, in bytes; one row may take more. */
const maxBatchBytes = 512 * 2 ** 20;

/**
 * Predicts the noise in latents: the UNet with classifier-free guidance (https://arxiv.org/abs/2207.12598). Rows of a
 * batch do not depend on each other, so large ones run one after another and memory is that of one row. Released by
 * `denoise`.
 */
export class Denoiser {
  private readonly batches: readonly RowBatch[];
  private readonly passes: number;

  constructor(
    private readonly session: GraphSession,
    private readonly conditions: DenoiserConditions,
  ) {
    this.passes = conditions.negative === null ? 1 : 2;
    const { images, imageHeight, imageWidth, frames, run } = conditions;
    const rowBytes = runBytes(run, { pixels: imageHeight * imageWidth, frames: frames ?? 1 });
    const size = Math.max(1, Math.floor(maxBatchBytes / rowBytes));
    const rows = this.passes * images;
    this.batches = Array.from({ length: Math.ceil(rows / size) }, (_, index) => {
      const [from, to] = [index * size, Math.min(rows, (index + 1) * size)];
      return { from, to, fixed: this.uploaded(this.fixedInputs(from, to)) };
    });
  }

  /**
   * Returns the network's prediction for latents `[images, channels, (frames,) height, width]` at a timestep, of the
   * same size.
   */
  async run(latents: Float32Array, timestep: number): Promise<Float32Array> {
    const { images, guidance } = this.conditions;
    const length = latents.length / images;
    const answer = new Float32Array(this.passes * latents.length);
    for (const batch of this.batches) answer.set(await this.runRows(latents, batch, timestep), batch.from * length);
    if (this.passes === 1) return answer;
    const without = answer.subarray(0, latents.length);
    const withPrompt = answer.subarray(latents.length);
    return without.map((value, index) => value + guidance * ((withPrompt[index] ?? 0) - value));
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

  private async runRows(latents: Float32Array, { from, to, fixed }: RowBatch, timestep: number): Promise<Float32Array> {
    const { images, channels, frames, height, width } = this.conditions;
    const length = latents.length / images;
    const samples = new Float32Array((to - from) * length);
    for (let row = from; row < to; row++) {
      const image = row % images;
      samples.set(latents.subarray(image * length, (image + 1) * length), (row - from) * length);
    }
    const dims = [to - from, channels, ...(frames === null ? [] : [frames]), height, width];
    const feeds = {
      ...fixed,
      sample: floatTensor(this.session, { input: 'sample', data: samples, dims }),
      timestep: integerTensor(this.session, { input: 'timestep', data: [timestep], dims: this.timestepDims() }),
    };
    const [output] = this.session.outputs;
    const outputs = await this.session.run(feeds, [output?.name ?? '']);
    return floatsOf(Object.values(outputs)[0]);
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
