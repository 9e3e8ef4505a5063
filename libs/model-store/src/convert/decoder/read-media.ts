import { invalidFile } from '../invalid-file.js';
import type { Architecture } from './architecture.js';
import type { MediaShape, RotaryShape } from './decoder-shape.js';
import type { DecoderSource } from './decoder-source.js';

const sectionsKey = 'rope.dimension_sections';

/** Reads how images enter the decoder; undefined if it takes tokens only. */
export function readMedia(
  source: DecoderSource,
  { rotaryAxes, seesWholeImages }: Architecture,
  rotary: RotaryShape,
): MediaShape | undefined {
  const { images, parameters, fileName } = source;
  if (images === undefined) return undefined;
  const common = { deepLayers: images.deepLayers, seesWholeImages };
  if (rotaryAxes === undefined) return common;
  const pairs = rotary.dimensions / 2;
  // Files may list a fourth axis, which has no pairs.
  const [time = 0, height = 0, width = 0, ...rest] = parameters.listedNumbers(sectionsKey) ?? [];
  if (rest.some((count) => count !== 0) || time + height + width !== pairs) {
    const found = [time, height, width, ...rest].join(', ');
    throw invalidFile(fileName, `its \`${sectionsKey}\` are ${found}, which do not add up to ${pairs} pairs`);
  }
  const axisOf = (pair: number): number => {
    if (rotaryAxes === 'interleaved') {
      const axis = pair % 3;
      return axis > 0 && pair < 3 * (axis === 1 ? height : width) ? axis : 0;
    }
    if (pair < time) return 0;
    return pair < time + height ? 1 : 2;
  };
  return { ...common, rotaryAxes: Array.from({ length: pairs }, (_, pair) => axisOf(pair)) };
}
