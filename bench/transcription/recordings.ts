import { jfkRecording, jfkWords } from '#test/jfk-recording';
import { wavFile, wavSamples } from '#test/wav-file';

/** A recording and its transcript. */
export interface Recording {
  name: string;
  samples: Float32Array;
  /** The same as a WAV file. */
  file: Buffer;
  words: string[];
}

const sampleRate = 16_000;

export function secondsOf({ samples }: Recording): number {
  return samples.length / sampleRate;
}

/** An address of 11 s, and one of 90 s made of it four times with pauses. */
export async function benchRecordings(home: string): Promise<Recording[]> {
  const speech = wavSamples(await jfkRecording(home));
  const words = jfkWords.split(' ');
  const pauses = [4, 9, 14, 19].map((seconds) => new Float32Array(seconds * sampleRate));
  const long = new Float32Array(pauses.flatMap((pause) => [...speech, ...pause]));
  return [
    { name: 'short', samples: speech, file: wavFile(speech), words },
    { name: 'long', samples: long, file: wavFile(long), words: Array.from({ length: 4 }, () => words).flat() },
  ];
}

/** Word error rate: substitutions, insertions and deletions per reference word. */
export function wordErrorRate(said: readonly string[], text: string): number {
  const heard = text
    .toLowerCase()
    .replaceAll(/[^a-z' ]/g, '')
    .split(/\s+/)
    .filter(Boolean);
  let row = Array.from({ length: heard.length + 1 }, (_, index) => index);
  for (const [at, word] of said.entries()) {
    const next = [at + 1];
    for (const [index, other] of heard.entries()) {
      const change = (row[index] ?? 0) + (word === other ? 0 : 1);
      next.push(Math.min(change, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return (row.at(-1) ?? 0) / said.length;
}
