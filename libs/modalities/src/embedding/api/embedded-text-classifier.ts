import { noTokens } from '#common';
import type { LimitedModelRequest } from '#gateway';
import { TextClassifier } from '#gateway/moderation';
import { embeddingJob } from '../contract/embedding.job.js';
import { maxEmbeddingTokens } from '../contract/embedding.meter.js';
import { EmbeddingCollector } from './embedding.presenter.js';

/** Texts per job. */
const maxTexts = 2_048;
/** A check that takes longer fails the request. */
const deadlineMs = 60_000;
const bytesPerNumber = 4;
/** Windows read at most this many times the tokens of a text. */
const windowShare = 2;

/** Classifies texts with models whose vectors are the probabilities of classes. More texts than a job takes are joined. */
export class EmbeddedTextClassifier extends TextClassifier {
  async classify(model: LimitedModelRequest, texts: readonly string[]): Promise<number[][]> {
    const perGroup = Math.ceil(texts.length / maxTexts);
    const groupOf = (index: number): number => Math.floor(index / perGroup);
    const groups = texts.reduce<string[]>((joined, text, index) => {
      const group = joined[groupOf(index)];
      joined[groupOf(index)] = group === undefined ? text : `${group}\n${text}`;
      return joined;
    }, []);
    const payload = { texts: groups, dimensions: null };
    // Long texts are read in windows, each with tokens of its own around it.
    const tokens = maxEmbeddingTokens(payload, { maxInputTokens: Infinity, pricing: null });
    const bounds = { ...noTokens, promptTokens: windowShare * tokens };
    const jobSpec = { definition: embeddingJob, payload, bounds, amountNano: 0n, deadlineMs };
    const { collected } = await model.collect(jobSpec, () => new EmbeddingCollector(payload.texts.length));
    const rows = collected.all().map(numbersOf);
    return texts.map((_text, index) => rows[groupOf(index)] ?? []);
  }
}

/** Little-endian float32. */
function numbersOf(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / bytesPerNumber }, (_, index) => bytes.readFloatLE(index * bytesPerNumber));
}
