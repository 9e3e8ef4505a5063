import { PlatformError } from '#common';
import type { ConversionOptions } from './conversion.js';
import { type DecoderShape, emitConcatDecoder, emitSplitDecoder, type LinearFormat } from './decoder/index.js';
import type { WeightFormat } from './weight-formats.js';

export { type WeightFormat, weightFormats } from './weight-formats.js';

/** Instead of one of them: each layer has the format of its own weights. */
export const stored = 'stored';

export const blockSizes = [16, 32, 64, 128] as const;
export type BlockSize = (typeof blockSizes)[number];
export const defaultBlockSize = 32;

/** Cache layout of the graph: `split` is the engine's fastest, `concat` is for other runtimes. */
const emitters = { split: emitSplitDecoder, concat: emitConcatDecoder };
export const graphLayouts = ['split', 'concat'] as const;

/** The way a graph is written, and its name in `installed.json`; the default has none. */
export interface ChosenLayout {
  emitDecoder: typeof emitSplitDecoder;
  /** Throws `INVALID_MODEL` for a decoder that the layout cannot hold. */
  check(shape: DecoderShape): void;
  suffix: string;
}

/** Returns what the option `layout` says. */
export function chooseLayout(options: ConversionOptions): ChosenLayout {
  const layout = chooseOption(options, 'layout', graphLayouts, 'split');
  return {
    emitDecoder: emitters[layout],
    check: ({ mixers, latent, media, ...heads }) => {
      const varied = heads.headSizes ?? heads.keyValueHeadsOfLayers ?? heads.keysAsValues ?? heads.sharedKeyValues;
      const isSplitOnly = mixers ?? latent ?? varied ?? heads.residualStreams ?? media;
      if (layout === 'split' || isSplitOnly === undefined) return;
      if (media) throw badOption('layout', 'must be `split` for a model that reads images');
      const others = varied ? 'share keys and values' : 'pass several residual streams on';
      const reason = latent ? 'attend to latents' : mixers ? 'keep a state' : others;
      throw badOption('layout', `must be \`split\` for a model whose layers ${reason}`);
    },
    suffix: layout === 'split' ? '' : ` layout=${layout}`,
  };
}

/**
 * Returns the option's value, or the default if absent. Throws `INVALID_MODEL` naming the option and the allowed
 * values.
 */
export function chooseOption<Value extends string | number>(
  options: ConversionOptions,
  name: string,
  allowed: readonly Value[],
  fallback: Value,
): Value {
  const given = options[name];
  if (given === undefined) return fallback;
  const found = allowed.find((value) => value === given);
  if (found === undefined) throw badOption(name, `must be one of ${allowed.join(', ')}`);
  return found;
}

export function integerOption(options: ConversionOptions, name: string): number | undefined {
  const given = options[name];
  if (given === undefined) return undefined;
  if (typeof given !== 'number' || !Number.isInteger(given) || given < 1)
    throw badOption(name, 'must be a whole number');
  return given;
}

export function flagOption(options: ConversionOptions, name: string): boolean {
  const given = options[name] ?? false;
  if (typeof given !== 'boolean') throw badOption(name, 'must be true or false');
  return given;
}

export function textOption(options: ConversionOptions, name: string): string | undefined {
  const given = options[name];
  if (given === undefined || typeof given === 'string') return given;
  throw badOption(name, 'must be a text');
}

export function refuseUnknownOptions(options: ConversionOptions, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw badOption(unknown, `is not known; this converter takes ${known.join(', ')}`);
}

export function linearFormat(weights: WeightFormat, blockSize: BlockSize): LinearFormat {
  if (weights === 'float32') return { kind: 'float32' };
  if (weights === 'int8-channel') return { kind: 'channels' };
  return { kind: 'blocks', bits: weights === 'int8' ? 8 : 4, blockSize };
}

/** Returns the name of a format in `installed.json`. */
export function formatName(weights: WeightFormat | typeof stored, blockSize: BlockSize): string {
  return weights === 'int8' || weights === 'int4' || weights === stored ? `${weights} blockSize=${blockSize}` : weights;
}

export function badOption(name: string, reason: string): PlatformError {
  return new PlatformError(
    'INVALID_MODEL',
    `The converter's option \`${name}\` ${reason}.`,
    `converter.options.${name}`,
  );
}
