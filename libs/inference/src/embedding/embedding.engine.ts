import { PlatformError } from '#common';
import type { EngineSink } from '../contract/engine.js';
import type { EncodedSentence } from '../text/sentence-tokenizer.js';
import { type EmbeddingInput, type EmbeddingPart, embeddingTask } from './embedding-task.js';
import { EmbeddingRequest, type EmbeddingRow } from './embedding-request.js';
import type { BatchLimits } from './length-batcher.js';
import { shapeVector } from './pooling.js';
import { RowEngine } from './row.engine.js';

export interface EmbeddingEngineOptions {
  /** Returns one vector per row, in one run of the model. */
  encode: (rows: readonly Int32Array[]) => Promise<Float32Array[]>;
  tokenize: (text: string, limit: number) => EncodedSentence;
  /** Reads texts that the client has tokenized; absent: none. */
  readIds?: (ids: readonly number[], limit: number) => EncodedSentence | null;
  /** Longest text in tokens. */
  maxTokens: number;
  normalize: boolean;
  batch: BatchLimits;
  /** Number of requests that the worker submits concurrently. */
  slots: number;
  sink: EngineSink;
  /** Releases the session. */
  onClose?: () => Promise<void>;
}

/** Embeds the texts of all queued requests together. */
export class EmbeddingEngine extends RowEngine<EmbeddingRow, EmbeddingRequest> {
  constructor(options: EmbeddingEngineOptions) {
    const { encode, tokenize, readIds, maxTokens, normalize, batch, slots, sink, onClose } = options;
    const reader = {
      tokenize: (text: string) => tokenize(text, maxTokens),
      readIds: (ids: readonly number[]) => readIds?.(ids, maxTokens) ?? null,
      maxTokens,
    };
    super({
      ...{ batch, slots, sink, onClose },
      task: embeddingTask,
      open: (id, input) => new EmbeddingRequest(id, input as EmbeddingInput, reader),
      encode: (rows) => encode(rows.map(({ ids }) => ids)),
      present: ({ input: { dimensions } }, computed) => {
        const shaped = computed.map(({ values }) => shapeVector(values, { dimensions, normalize }));
        if (!shaped.every(isFiniteVector)) {
          throw new PlatformError('INFERENCE_FAILED', 'The model returned non-finite numbers for a text.');
        }
        const rows = computed.map(({ row }) => row);
        return partOf(rows, shaped);
      },
    });
  }
}

/** Joins rows of one vector length into one array. */
function partOf(rows: readonly EmbeddingRow[], vectors: readonly Float32Array[]): EmbeddingPart {
  const dimensions = vectors[0]?.length ?? 0;
  const joined = new Float32Array(vectors.length * dimensions);
  for (const [index, vector] of vectors.entries()) joined.set(vector, index * dimensions);
  return { indexes: rows.map(({ index }) => index), dimensions, vectors: joined };
}

function isFiniteVector(vector: Float32Array): boolean {
  return vector.length > 0 && vector.every(Number.isFinite);
}
