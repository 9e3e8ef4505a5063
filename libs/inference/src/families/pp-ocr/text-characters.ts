/** A text and the mean probability of its characters. */
export interface ReadCharacters {
  text: string;
  score: number;
}

/**
 * Between words the recognizer often prefers no character to the space, with a space a distant second. Within words a
 * space has a tenth of this probability.
 */
const spaceFrom = 0.015;

/**
 * Reads the most probable character of every step, `[steps, characters.length]`: repeated ones are one, and the first
 * one stands for none. The last one is the space.
 */
export function readCharacters(probabilities: Float32Array, characters: readonly string[]): ReadCharacters {
  const count = characters.length;
  let [text, last, sum, read, space] = ['', 0, 0, 0, 0];
  for (let start = 0; start + count <= probabilities.length; start += count) {
    const best = mostProbable(probabilities, start, count);
    space = Math.max(space, probabilities[start + count - 1] as number);
    if (best !== 0 && best !== last) {
      if (best !== count - 1 && text !== '' && !text.endsWith(' ') && space >= spaceFrom) text += ' ';
      text += characters[best] ?? '';
      sum += probabilities[start + best] as number;
      read++;
      space = 0;
    }
    last = best;
  }
  return { text, score: read === 0 ? 0 : sum / read };
}

function mostProbable(probabilities: Float32Array, start: number, count: number): number {
  let best = 0;
  for (let index = 1; index < count; index++) {
    if ((probabilities[start + index] as number) > (probabilities[start + best] as number)) best = index;
  }
  return best;
}

/** The characters of a model: none, those of its file, one per line, and the space. */
export function characterSet(file: string): string[] {
  const lines = file.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return ['', ...lines, ' '];
}
