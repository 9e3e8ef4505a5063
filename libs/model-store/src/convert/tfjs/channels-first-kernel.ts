import type { TfjsWeight } from './tfjs-weights.js';

/**
 * Transposes the kernel of a convolution from `[h, w, in, out]` to `[out, in, h, w]`; a depthwise one from `[h, w, in,
 * multiplier]` to `[in × multiplier, 1, h, w]`.
 */
export function channelsFirstKernel(
  { shape, data }: TfjsWeight,
  isDepthwise: boolean,
): { dimensions: number[]; data: Float32Array } {
  const [height = 1, width = 1, channels = 1, filters = 1] = shape;
  const target = new Float32Array(data.length);
  let from = 0;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      for (let channel = 0; channel < channels; channel++) {
        for (let filter = 0; filter < filters; filter++) {
          const plane = isDepthwise ? channel * filters + filter : filter * channels + channel;
          target[(plane * height + y) * width + x] = data[from++] ?? 0;
        }
      }
    }
  }
  const dimensions = isDepthwise ? [channels * filters, 1, height, width] : [filters, channels, height, width];
  return { dimensions, data: target };
}
