import { floatTensor, floatsOf, integerTensor } from '../../runtime/float-tensor.js';
import type { GraphSession, GraphTensor } from '../../runtime/graph-session.js';
import type { EncodedPrompt } from './prompt-encoder.js';

/** Conditions that stay the same over all steps of an image or video. */
export interface DenoiserConditions {
  prompt: EncodedPrompt;
  /** Negative prompt, compared with the prompt at every step; null disables the comparison. */
  negative: EncodedPrompt | null;
  /** Guidance scale: distance from the negative prediction. */
  guidance: number;
  /** Size of the latents. */
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
}

/** Predicts the noise in latents: the UNet with classifier-free guidance (https://arxiv.org/abs/2207.12598). */
export class Denoiser {
  private readonly fixed: Record<string, GraphTensor>;
  private readonly batch: number;

  constructor(
    private readonly session: GraphSession,
    private readonly conditions: DenoiserConditions,
  ) {
    this.batch = conditions.negative === null ? 1 : 2;
    this.fixed = this.fixedInputs();
  }

  /**
   * Returns the network's prediction for latents `[channels, (frames,) height, width]` at a timestep, of the same size.
   */
  async run(latents: Float32Array, timestep: number): Promise<Float32Array> {
    const { channels, frames, height, width, guidance } = this.conditions;
    const samples = new Float32Array(this.batch * latents.length);
    for (let row = 0; row < this.batch; row++) samples.set(latents, row * latents.length);
    const dims = [this.batch, channels, ...(frames === null ? [] : [frames]), height, width];
    const feeds = {
      ...this.fixed,
      sample: floatTensor(this.session, { input: 'sample', data: samples, dims }),
      timestep: integerTensor(this.session, { input: 'timestep', data: [timestep], dims: this.timestepDims() }),
    };
    const [output] = this.session.outputs;
    const outputs = await this.session.run(feeds, [output?.name ?? '']);
    const answer = floatsOf(Object.values(outputs)[0]);
    if (this.batch === 1) return answer;
    const without = answer.subarray(0, latents.length);
    const withPrompt = answer.subarray(latents.length);
    return without.map((value, index) => value + guidance * ((withPrompt[index] ?? 0) - value));
  }

  private fixedInputs(): Record<string, GraphTensor> {
    const { prompt, negative, imageHeight, imageWidth, guidanceDimensions, guidance } = this.conditions;
    // Sample order: without the prompt, then with it.
    const prompts = negative === null ? [prompt] : [negative, prompt];
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
