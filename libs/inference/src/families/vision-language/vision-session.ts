import { productOf } from '#common/values';
import { PlatformError } from '#common';
import { floatsOf, floatTensor } from '../../runtime/float-tensor.js';
import type { GraphSession, GraphTensor } from '../../runtime/graph-session.js';

/** The vision encoder of a model: `pixel_values` to `image_features`. */
export class VisionSession {
  constructor(private readonly session: GraphSession) {}

  get inputNames(): string[] {
    return this.session.inputs.map(({ name }) => name);
  }

  floats(input: string, data: Float32Array, dims: readonly number[]): GraphTensor {
    return floatTensor(this.session, { input, data, dims });
  }

  /** A mask of ones in the type of the named input. */
  ones(input: string, dims: readonly number[]): GraphTensor {
    const length = productOf(dims);
    const type = this.session.inputs.find(({ name }) => name === input)?.type;
    if (type === 'bool') return this.session.tensor('bool', new Uint8Array(length).fill(1), dims);
    return this.session.tensor('int64', new BigInt64Array(length).fill(1n), dims);
  }

  integers(data: readonly number[], dims: readonly number[]): GraphTensor {
    return this.session.tensor('int64', BigInt64Array.from(data, BigInt), dims);
  }

  shortIntegers(data: Int32Array, dims: readonly number[]): GraphTensor {
    return this.session.tensor('int32', data, dims);
  }

  /** Values of a token; null if the graph leaves that open. */
  get width(): number | null {
    const width = this.session.outputs[0]?.shape.at(-1);
    return typeof width === 'number' ? width : null;
  }

  /** Returns `[tokens, width]`. Rejects with `INFERENCE_FAILED` for another number of tokens. */
  async run(feeds: Record<string, GraphTensor>, tokens: number): Promise<Float32Array> {
    const output = this.session.outputs[0]?.name ?? 'image_features';
    const features = (await this.session.run(feeds, [output]))[output];
    const width = features?.dims.at(-1) ?? 0;
    const values = floatsOf(features);
    if (values.length === tokens * width) return values;
    const positions = width === 0 ? 0 : values.length / width;
    const text = `The vision encoder returned ${positions} positions for ${tokens} image tokens.`;
    throw new PlatformError('INFERENCE_FAILED', text);
  }

  async close(): Promise<void> {
    await this.session.release();
  }
}
