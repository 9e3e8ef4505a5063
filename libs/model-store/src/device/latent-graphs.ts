import { onnxDataTypeCode } from '../onnx/onnx-types.js';
import { GraphBuilder, type ValueName } from '../onnx/index.js';
import { encodeAlone } from './helper-graphs.js';
import type { FloatCacheType } from './cache-in-place.js';

/*
 * Small graphs that compute with the latents of diffusion on a device, as files in memory. Latents are float32, of any
 * rank; their first axis is the image. Factors are float32 inputs of one value.
 */

/** The terms of a step. */
export interface LatentTerms {
  /** Axes of the latents. */
  rank: number;
  /** Parts in which the output of the network comes, and its type. */
  parts: number;
  outputType: FloatCacheType;
  /** Passes of the network: two, the second with the prompt, or one. */
  passes: 1 | 2;
  /** Whether there is a term for the clean image of the previous step, and one for noise. */
  hasLastClean: boolean;
  hasNoise: boolean;
  /** Whether the clean image of this step is returned. */
  returnsClean: boolean;
}

/**
 * Sums `latents`, the passes of `output.N`, `last_clean` and `noise`, each times `next_factor.N`, to `next`. The first of
 * them, up to the output, times `clean_factor.N` are `clean`.
 */
export function latentStepGraph(terms: LatentTerms): Uint8Array {
  const { rank, parts, outputType, passes, hasLastClean, hasNoise, returnsClean } = terms;
  const builder = new GraphBuilder('latent-step');
  const latents = builder.input('latents', 'float32', latentAxes('images', rank));
  const outputs = Array.from({ length: parts }, (_, index) => {
    const part = builder.input(`output.${index}`, outputType, latentAxes(`rows_${index}`, rank));
    return outputType === 'float32' ? part : castTo(builder, part, 'float32');
  });
  const joined = outputs.length === 1 ? (outputs[0] ?? '') : builder.node('Concat', outputs, { axis: 0 });
  const predicted = passes === 1 ? [joined] : ['without', 'with'];
  if (passes === 2) builder.nodeWithOutputs('Split', [joined], predicted, { axis: 0 });
  const further = [...(hasLastClean ? ['last_clean'] : []), ...(hasNoise ? ['noise'] : [])];
  for (const name of further) builder.input(name, 'float32', latentAxes('images', rank));
  sum(builder, 'next', [latents, ...predicted, ...further]);
  builder.output('next', 'float32', latentAxes('images', rank));
  if (returnsClean) {
    sum(builder, 'clean', [latents, ...predicted]);
    builder.output('clean', 'float32', latentAxes('images', rank));
  }
  return encodeAlone(builder);
}

/** Copies the `rows` of `latents`, times `factor`, to `picked`. */
export function latentRowsGraph({ rank, type }: { rank: number; type: FloatCacheType }): Uint8Array {
  const builder = new GraphBuilder('latent-rows');
  builder.input('latents', 'float32', latentAxes('images', rank));
  builder.input('rows', 'int64', ['picked']);
  builder.input('factor', 'float32', [1]);
  const rows = builder.node('Gather', ['latents', 'rows'], { axis: 0 });
  const isFloat = type === 'float32';
  const scaled = builder.node('Mul', [rows, 'factor'], {}, isFloat ? 'picked' : undefined);
  if (!isFloat) castTo(builder, scaled, type, 'picked');
  builder.output('picked', type, latentAxes('picked', rank));
  return encodeAlone(builder);
}

/** Replaces latents where `free` is 0: `latents * free + clean * signal + added * noise` is `next`. */
export function latentMaskGraph({ rank }: { rank: number }): Uint8Array {
  const builder = new GraphBuilder('latent-mask');
  for (const name of ['latents', 'free', 'clean', 'added']) builder.input(name, 'float32', latentAxes('images', rank));
  for (const name of ['signal', 'noise']) builder.input(name, 'float32', [1]);
  const generated = builder.node('Mul', ['latents', 'free']);
  const kept = builder.node('Add', [builder.node('Mul', ['clean', 'signal']), builder.node('Mul', ['added', 'noise'])]);
  builder.node('Add', [generated, kept], {}, 'next');
  builder.output('next', 'float32', latentAxes('images', rank));
  return encodeAlone(builder);
}

function latentAxes(first: string, rank: number): string[] {
  return [first, ...Array.from({ length: rank - 1 }, (_, axis) => `axis_${axis + 1}`)];
}

function sum(builder: GraphBuilder, output: string, terms: readonly ValueName[]): void {
  let total: ValueName | null = null;
  for (const [index, term] of terms.entries()) {
    const factor = builder.input(`${output}_factor.${index}`, 'float32', [1]);
    const product = builder.node('Mul', [term, factor]);
    const isLast = index + 1 === terms.length;
    total = total === null ? product : builder.node('Add', [total, product], {}, isLast ? output : undefined);
  }
}

function castTo(builder: GraphBuilder, value: ValueName, type: FloatCacheType, output?: string): ValueName {
  return builder.node('Cast', [value], { to: onnxDataTypeCode[type] }, output);
}
