import type { VisionSize } from '#model-memory';
import { defaultBlockSize, linearFormat, type WeightFormat } from './convert/conversion-options.js';
import { visionFile, visionFormat } from './convert/vision/hub-vision.js';
import { imageTokensOf } from './image-tokens.js';
import { visionSizes } from './memory/vision-sizes.js';
import { addedBytesPerValue, bytesPerValue } from './source/converted-formats.js';
import type { VisionDescription } from './source/gguf-description.js';

/** What a draft says of a converted model that reads images, beside what it says of its decoder. */
export interface VisionDraft {
  fields: { family: string; familyOptions: Record<string, string | number> };
  capabilities: Record<string, boolean | number>;
  size: VisionSize;
}

/** Images of a request where a model reads several. */
const maxImages = 4;

/** The weights are those of the decoder, but for those of 4 bits. */
export function draftVision(
  { config, preprocessor, parameters }: VisionDescription,
  weights?: WeightFormat,
): VisionDraft {
  const format = visionFormat(linearFormat(weights ?? 'float32', defaultBlockSize));
  const familyOptions = { visionEncoder: visionFile, ...imageTokensOf({ config, preprocessor }) };
  const weightsBytes = Math.round(parameters * (bytesPerValue(format) + addedBytesPerValue(format)));
  return {
    fields: { family: 'vision-language', familyOptions },
    capabilities: { supportsVision: true, supportsMultipleImages: true, maxImages, supportsVideoInput: true },
    size: { weightsBytes, ...visionSizes(config, familyOptions) },
  };
}
