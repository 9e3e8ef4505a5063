import { PlatformError } from '#common';
import type { EmbeddingEvent } from '../contract/embedding.events.js';
import type { EncodingFormat } from '../contract/embedding.request.js';

const bytesPerNumber = 4;

/** Numbers written between two turns of the loop: some ten milliseconds of them. */
const numbersPerTurn = 50_000;

/** The vectors of one request, as they come in. */
export class EmbeddingCollector {
  private readonly vectors: (Buffer | null)[];

  constructor(count: number) {
    this.vectors = Array.from({ length: count }, () => null);
  }

  add({ indexes, dimensions, data }: EmbeddingEvent): void {
    const bytes = Buffer.from(data, 'base64');
    const size = dimensions * bytesPerNumber;
    if (bytes.length !== indexes.length * size) throw incomplete();
    for (const [row, index] of indexes.entries()) this.vectors[index] = bytes.subarray(row * size, (row + 1) * size);
  }

  /** In the order of the input. Throws `INFERENCE_FAILED` when some never came. */
  all(): Buffer[] {
    return this.vectors.map((vector) => {
      if (vector === null) throw incomplete();
      return vector;
    });
  }
}

function incomplete(): PlatformError {
  return new PlatformError('INFERENCE_FAILED', 'The response ended before it was complete.');
}

export interface EmbeddingResult {
  modelId: string;
  vectors: readonly Buffer[];
  format: EncodingFormat;
  promptTokens: number;
}

/**
 * The JSON of the answer. A large one is megabytes of numbers: it is written in pieces, and the loop turns between them,
 * so that no other caller waits for it.
 */
export async function presentEmbeddings({ modelId, vectors, format, promptTokens }: EmbeddingResult): Promise<string> {
  const items: string[] = [];
  let written = 0;
  for (const [index, vector] of vectors.entries()) {
    items.push(`{"object":"embedding","index":${index},"embedding":${presentVector(vector, format)}}`);
    written += vector.length / bytesPerNumber;
    if (written < numbersPerTurn) continue;
    written = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }
  const usage = JSON.stringify({ prompt_tokens: promptTokens, total_tokens: promptTokens });
  return `{"object":"list","data":[${items.join(',')}],"model":${JSON.stringify(modelId)},"usage":${usage}}`;
}

function presentVector(vector: Buffer, format: EncodingFormat): string {
  if (format === 'base64') return `"${vector.toString('base64')}"`;
  const numbers: number[] = [];
  for (let byte = 0; byte < vector.length; byte += bytesPerNumber) numbers.push(vector.readFloatLE(byte));
  return JSON.stringify(numbers);
}
