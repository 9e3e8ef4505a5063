import { exponential, negligible } from './exponential.js';

/**
 * Returns a temperature between `minimum` and `maximum` by the model's uncertainty. This is the entropy of the
 * unmodified distribution at temperature 1 divided by that of the uniform one. Equals text-generation-webui's dynamic
 * temperature (exponent 1), which llama.cpp's `dynatemp` applies to its own candidates.
 */
export function dynamicTemperature(
  logits: Float32Array,
  best: number,
  range: { minimum: number; maximum: number },
): number {
  let total = 0;
  let weighted = 0;
  let valid = 0;
  for (let id = 0; id < logits.length; id++) {
    const value = logits[id] as number;
    if (value > -Infinity) valid++;
    const distance = value - best;
    if (!(distance > negligible)) continue;
    const weight = exponential(distance);
    total += weight;
    weighted += weight * distance;
  }
  const entropy = Math.max(0, Math.log(total) - weighted / total);
  const share = valid > 1 ? Math.min(1, entropy / Math.log(valid)) : 0;
  return range.minimum + (range.maximum - range.minimum) * share;
}
