import { invalidFile } from '../invalid-file.js';
import type { Architecture } from './architecture.js';
import type { RotaryShape } from './decoder-shape.js';
import type { DecoderSource, SourceTensor } from './decoder-source.js';
import { yarnFactors } from './rotary-frequencies.js';

const scalings = ['none', 'linear', 'dynamic', 'llama3', 'yarn', 'longrope'];

export interface RotarySizes {
  headSize: number;
  /** Of this conversion, and of the file. */
  contextLength: number;
  modelContext: number;
}

/** Reads how heads rotate. Tensors of factors are read when the rotary tables are written. */
export function readRotary(source: DecoderSource, architecture: Architecture, sizes: RotarySizes): RotaryShape {
  const { parameters, tensors, fileName } = source;
  const base = parameters.number('rope.freq_base', 10000);
  const dimensions = parameters.size('rope.dimension_count', sizes.headSize);
  const plain: RotaryShape = { base, dimensions };
  const factors = (name: string, tensor: SourceTensor) => {
    if (tensor.dimensions.join() === String(dimensions / 2)) return () => tensor.rows(0, 1);
    const sizes = `its tensor ${name} is ${tensor.dimensions.join(' × ')}, not ${dimensions / 2}`;
    throw invalidFile(fileName, sizes);
  };
  const long = tensors.get('rope_factors_long.weight');
  const short = tensors.get('rope_factors_short.weight');
  if (long && short) {
    const original = parameters.size('rope.scaling.original_context_length', sizes.modelContext);
    const chosen =
      sizes.contextLength > original
        ? factors('rope_factors_long.weight', long)
        : factors('rope_factors_short.weight', short);
    const magnitude = parameters.number('rope.scaling.attn_factor', longMagnitude(sizes.modelContext, original));
    return { ...plain, frequencyFactors: chosen, magnitude };
  }
  const listed = tensors.get('rope_freqs.weight');
  if (listed) return { ...plain, frequencyFactors: factors('rope_freqs.weight', listed) };
  const kind = parameters.text('rope.scaling.type', parameters.has('rope.scale_linear') ? 'linear' : 'none');
  if (kind === 'none') return plain;
  if (kind === 'linear') return { ...plain, frequencyFactors: () => Promise.resolve(linearFactors()) };
  if (kind === 'dynamic') return { ...plain, base: dynamicBase(source, plain, sizes.contextLength) };
  if (kind === 'yarn') return readYarn(source, architecture, plain);
  const lack = scalings.includes(kind) ? ' comes without its tensors of factors' : ' is not converted';
  throw invalidFile(
    fileName,
    `its rotary scaling (\`rope.scaling.type\`) ${kind}${lack}; known are ${scalings.join(', ')}`,
  );

  function linearFactors(): Float32Array {
    const old = parameters.number('rope.scale_linear', 1);
    return new Float32Array(dimensions / 2).fill(parameters.number('rope.scaling.factor', old));
  }
}

/** Longest context to which a model may be stretched, in tokens; `null` if not beyond its own. */
export function stretchedContext({ parameters }: DecoderSource): number | null {
  if (parameters.text('rope.scaling.type', 'none') !== 'dynamic') return null;
  const factor = parameters.number('rope.scaling.factor');
  return Math.floor(parameters.size('rope.scaling.original_context_length') * factor);
}

/**
 * The base of dynamic NTK scaling for texts as long as the served context. The reference computes another one for each
 * length beyond the original context; with keys in a cache, that would mix several. Within the original context nothing
 * is scaled.
 */
function dynamicBase(
  { parameters, fileName }: DecoderSource,
  { base, dimensions }: RotaryShape,
  contextLength: number,
): number {
  const original = parameters.size('rope.scaling.original_context_length');
  const factor = parameters.number('rope.scaling.factor');
  if (factor < 1 || dimensions < 4) {
    throw invalidFile(fileName, `its dynamic rotary scaling has the factor ${factor} and ${dimensions} dimensions`);
  }
  if (contextLength <= original) return base;
  return base * ((factor * contextLength) / original - (factor - 1)) ** (dimensions / (dimensions - 2));
}

/** LongRoPE compensates the flatter attention over more tokens. */
function longMagnitude(modelContext: number, original: number): number {
  const scale = modelContext / original;
  return scale <= 1 ? 1 : Math.sqrt(1 + Math.log(scale) / Math.log(original));
}

function readYarn({ parameters }: DecoderSource, architecture: Architecture, plain: RotaryShape): RotaryShape {
  const factor = parameters.number('rope.scaling.factor', 1);
  const yarn = {
    ...plain,
    factor,
    originalContext: parameters.size('rope.scaling.original_context_length'),
    betaFast: parameters.number('rope.scaling.yarn_beta_fast', 32),
    betaSlow: parameters.number('rope.scaling.yarn_beta_slow', 1),
    exactRange: architecture.exactYarn ?? false,
  };
  const growth = architecture.plainYarn ? 1 : 1 + 0.1 * Math.log(factor);
  const magnitude =
    parameters.number('rope.scaling.yarn_attn_factor', parameters.number('rope.scaling.attn_factor', 1)) * growth;
  return { ...plain, frequencyFactors: () => Promise.resolve(yarnFactors(yarn)), magnitude };
}
