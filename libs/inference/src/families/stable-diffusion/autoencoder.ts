import { PlatformError } from '#common';
import { emptyImage, planesOf, type RgbPixels, wholeArea, writePlanes } from '../../images/pixel-grid.js';
import { floatTensor, floatsOf } from '../../runtime/float-tensor.js';
import type { LatentOperations } from '../../diffusion/latent-operations.js';
import { type GraphSession, type GraphTensor, releaseKept, runKeeping } from '../../runtime/graph-session.js';

export interface Latents {
  channels: number;
  height: number;
  width: number;
  data: Float32Array;
}

/** Encodes images to latents and decodes latents to images. */
export class Autoencoder {
  constructor(private readonly dependencies: { encoder: GraphSession | null; decoder: GraphSession; scale: number }) {}

  async decode({ channels, height, width, data }: Latents): Promise<RgbPixels> {
    const { decoder, scale } = this.dependencies;
    const unscaled = data.map((value) => value / scale);
    const dims = [1, channels, height, width];
    return await this.decodeInput(floatTensor(decoder, { input: this.decoderInput, data: unscaled, dims }));
  }

  /** Decodes one image of latents from where they are. */
  async decodeImage(latents: GraphTensor, row: number, operations: LatentOperations): Promise<RgbPixels> {
    const { decoder, scale } = this.dependencies;
    const target = { session: decoder, input: this.decoderInput };
    const input = await operations.pick(latents, { rows: [row], factor: 1 / scale }, target);
    return await this.decodeInput(input).finally(() => releaseKept([input]));
  }

  private get decoderInput(): string {
    return this.dependencies.decoder.inputs[0]?.name ?? '';
  }

  private async decodeInput(input: GraphTensor): Promise<RgbPixels> {
    const { decoder } = this.dependencies;
    const output = decoder.outputs[0]?.name ?? '';
    const feeds = { [this.decoderInput]: input };
    const { [output]: tensor } = await runKeeping(decoder, feeds, [output], new Set());
    const [, , rows = 0, columns = 0] = tensor?.dims ?? [];
    const values = floatsOf(tensor);
    if (!values.every((value) => Number.isFinite(value))) {
      throw new PlatformError('INFERENCE_FAILED', 'The model returned numbers that are not an image.');
    }
    const image = emptyImage(columns, rows);
    // Output samples range from -1 to 1.
    const samples = values.map((value) => value / 2 + 0.5);
    writePlanes({ data: samples, width: columns, height: rows }, wholeArea(image), {
      pixels: image,
      left: 0,
      top: 0,
    });
    return image;
  }

  /** Returns the likeliest latents of an image. */
  async encode(image: RgbPixels): Promise<Float32Array> {
    const { encoder, scale } = this.dependencies;
    if (encoder === null) throw new PlatformError('INVALID_REQUEST', 'This model cannot start from an image.', 'image');
    const [input] = encoder.inputs;
    const [output] = encoder.outputs;
    const name = input?.name ?? '';
    const samples = planesOf(image, wholeArea(image), (sample) => (sample / 255) * 2 - 1);
    const dims = [1, 3, image.height, image.width];
    const feeds = { [name]: floatTensor(encoder, { input: name, data: samples, dims }) };
    const outputs = await encoder.run(feeds, [output?.name ?? '']);
    const values = floatsOf(Object.values(outputs)[0]);
    // Newer exports return mean and variance side by side, older ones a sample.
    const isDistribution = output?.name === 'latent_parameters';
    return (isDistribution ? values.subarray(0, values.length / 2) : values).map((value) => value * scale);
  }
}
