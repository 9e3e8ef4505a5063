import { Injectable } from '@nestjs/common';
import { PlatformError } from '#common';
import { type ModelRequest, RequestPipeline } from '#gateway';
import { TextEmbedder } from '#gateway/inputs';
import { Logger } from '#platform/logging';
import { cutToBytes } from './web-text.js';
import { scoreByWords } from './passage-words.js';

/** The embedding model that currently has this trait. */
const modelName = 'default';
/** Time of the vectors; after that, words decide. */
const maxMs = 3_000;
/** Passages that get a vector, chosen by words. */
const maxEmbedded = 48;
/** Of a text that is embedded. Passages are about as long. */
const maxBytes = 1_200;
/** Position of the job among the input jobs of its request; the job has an id of its own. */
const position = 0;

interface ScoreOptions {
  opened: ModelRequest;
  signal: AbortSignal;
}

/**
 * Scores passages of pages by a question: with the vectors of the embedding model where a worker serves one and answers
 * in time, otherwise by words.
 */
@Injectable()
export class PassageScores {
  constructor(
    private readonly pipeline: RequestPipeline,
    private readonly embedder: TextEmbedder,
    private readonly logger: Logger,
  ) {}

  /** Never rejects, and returns soon after `signal` aborts. */
  async of(question: string, passages: readonly string[], { opened, signal }: ScoreOptions): Promise<number[]> {
    const byWords = await scoreByWords(question, passages);
    const ranked = [...byWords.keys()].toSorted((left, right) => (byWords[right] ?? 0) - (byWords[left] ?? 0));
    const chosen = ranked.slice(0, maxEmbedded);
    const texts = [question, ...chosen.map((index) => passages[index] ?? '')];
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(maxMs)]);
    // Stores that do not notice the signal are not waited for.
    const vectors = await Promise.race([this.embed(texts, opened, inTime), aborted(inTime)]);
    if (vectors === null) return byWords;
    const [questionVector = [], ...found] = vectors;
    // Passages without a vector come after those with one, in the order of their words.
    const scores = byWords.map((score) => score / (1 + score) - 2);
    for (const [place, index] of chosen.entries()) scores[index] = cosine(questionVector, found[place] ?? []);
    return scores;
  }

  /** Null where there is no model, or where it takes too long. */
  private async embed(passages: string[], opened: ModelRequest, signal: AbortSignal): Promise<number[][] | null> {
    try {
      const param = 'service_parameters';
      const input = { id: modelName, type: 'embedding', param, position } as const;
      const model = await this.pipeline.openInput(opened.http, input);
      const texts = passages.map((text) => cutToBytes(withoutAddresses(text), maxBytes));
      return await this.embedder.embedFreely(model, { texts, deadlineMs: maxMs, signal });
    } catch (error) {
      const isExpected = signal.aborted || (error instanceof PlatformError && unserved.includes(error.code));
      if (!isExpected) this.logger.warn({ error }, 'passages of the web could not be embedded');
    }
    return null;
  }
}

/** Codes of a model that is not installed, or that no worker serves. */
const unserved: readonly string[] = ['INVALID_REQUEST', 'MODEL_OFFLINE', 'MODEL_NOT_FOUND'];

function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    else signal.addEventListener('abort', () => resolve(null), { once: true });
  });
}

/** Addresses take many tokens, and say little. A text is never empty. */
function withoutAddresses(text: string): string {
  return text.replaceAll(/\(?https?:\/\/[^\s)]+\)?/g, '').trim() || '-';
}

function cosine(left: readonly number[], right: readonly number[]): number {
  let [product, ofLeft, ofRight] = [0, 0, 0];
  for (const [index, value] of left.entries()) {
    const other = right[index] ?? 0;
    product += value * other;
    ofLeft += value * value;
    ofRight += other * other;
  }
  return ofLeft === 0 || ofRight === 0 ? 0 : product / Math.sqrt(ofLeft * ofRight);
}
