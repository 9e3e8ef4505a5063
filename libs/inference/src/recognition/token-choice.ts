import type { Random } from '../sampling/random.js';

export interface ChosenToken {
  id: number;
  /** Natural log-probability at temperature 1, among the allowed tokens. */
  logprob: number;
}

/** Returns the likeliest token at temperature 0, and a sampled one above 0. */
export function chooseToken(logits: Float32Array, temperature: number, random: Random): ChosenToken {
  const best = argMax(logits);
  const highest = logits[best] as number;
  const id = temperature === 0 ? best : draw(logits, { highest, temperature, random });
  return { id, logprob: (logits[id] as number) - highest - Math.log(sumOfExponentials(logits, highest, 1)) };
}

export function argMax(values: Float32Array): number {
  let best = 0;
  let highest = -Infinity;
  for (let index = 0; index < values.length; index++) {
    const value = values[index] as number;
    if (value > highest) {
      highest = value;
      best = index;
    }
  }
  return best;
}

/** Returns the softmax probability of one token. */
export function probabilityOf(logits: Float32Array, id: number): number {
  const highest = logits[argMax(logits)] as number;
  return Math.exp((logits[id] ?? -Infinity) - highest) / sumOfExponentials(logits, highest, 1);
}

function sumOfExponentials(logits: Float32Array, highest: number, temperature: number): number {
  let sum = 0;
  for (let id = 0; id < logits.length; id++) sum += Math.exp(((logits[id] as number) - highest) / temperature);
  return sum;
}

function draw(
  logits: Float32Array,
  { highest, temperature, random }: { highest: number; temperature: number; random: Random },
): number {
  let left = random.nextUnit() * sumOfExponentials(logits, highest, temperature);
  let last = 0;
  for (let id = 0; id < logits.length; id++) {
    const weight = Math.exp(((logits[id] as number) - highest) / temperature);
    if (weight === 0) continue;
    last = id;
    left -= weight;
    if (left < 0) return id;
  }
  return last;
}
