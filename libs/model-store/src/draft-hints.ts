import { draftVision } from './draft-vision.js';
import type { DraftFacts } from './draft.js';
import { type ConvertedFormats, precisionsOf, uniformFormats } from './source/converted-formats.js';
import type { VisionDescription } from './source/gguf-description.js';
import { decoderSize, type GgufDescription } from './source/gguf-description.js';

/* Choices that an operator may prefer to those of a draft. */

/** The operator may have meant another of several GGUF files of a source. */
export function choiceOf(uri: string, name: string, [first, ...more]: readonly string[]): Pick<DraftFacts, 'choice'> {
  if (first === undefined) return {};
  const others = more.length === 0 ? first : `${first} and ${more.length} more`;
  return { choice: `${name} was chosen; the source also has ${others}. Name one as in ${uri}:${first}` };
}

/** Weights of 16 bits are served as float32, the largest form; these are its sizes in smaller ones. */
export function smallerWeights(
  found: GgufDescription,
  {
    formats,
    contextLength,
    vision,
  }: { formats: ConvertedFormats; contextLength: number; vision: VisionDescription | null },
): Pick<DraftFacts, 'smaller'> {
  if (precisionsOf(formats)[0] !== 'float32') return {};
  const choices = ['int8', 'int4'] as const;
  return {
    smaller: choices.map((weights) => ({
      weights,
      size: {
        ...decoderSize(found, uniformFormats(weights, found), contextLength),
        ...(vision && { vision: draftVision(vision, weights).size }),
      },
    })),
  };
}
