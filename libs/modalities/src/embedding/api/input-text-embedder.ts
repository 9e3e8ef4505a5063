import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { JobQuote } from '#billing';
import { newRequestId, noTokens, PlatformError } from '#common';
import { JobRunner, type LimitedModelRequest, type ModelRequest } from '#gateway';
import { type EmbeddedText, type FreeTexts, type InputWork, TextEmbedder } from '#gateway/inputs';
import { ApiConfig } from '#platform/config';
import { callerOf } from '#platform/http';
import type { EmbeddingEvent } from '../contract/embedding.events.js';
import { embeddingJob } from '../contract/embedding.job.js';
import { maxEmbeddingTokens, quoteEmbedding } from '../contract/embedding.meter.js';
import { embeddingMembers } from './embedding.normalizer.js';
import { EmbeddingCollector } from './embedding.presenter.js';

/** Tokens that a model puts around a text, at most. */
const tokensAround = 16;

/** Embeds texts of chats, such as the questions of characters with documents. */
@Injectable()
export class InputTextEmbedder extends TextEmbedder {
  constructor(
    private readonly runner: JobRunner,
    private readonly config: ApiConfig,
  ) {
    super();
  }

  override async embedFreely(model: ModelRequest, { texts, ...options }: FreeTexts): Promise<number[][]> {
    try {
      return await this.embedWhole(model, { texts, ...options });
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'TOO_MANY_TOKENS') throw error;
      const { maxInputTokens } = embeddingMembers(model.manifest);
      const fitting = texts.map((text) => shortened(text, maxInputTokens - tokensAround));
      return await this.embedWhole(model, { texts: fitting, ...options });
    }
  }

  override async embedWhole(
    model: ModelRequest,
    { texts, deadlineMs, signal: disconnected }: FreeTexts,
  ): Promise<number[][]> {
    model.requireServed();
    const { maxInputTokens } = embeddingMembers(model.manifest);
    const payload = { texts, dimensions: null };
    const promptTokens = maxEmbeddingTokens(payload, { maxInputTokens, pricing: null });
    const bounds = { ...noTokens, promptTokens };
    const job = {
      requestId: newRequestId(this.config.site),
      caller: callerOf(model.http.request),
      definition: embeddingJob,
      modelId: model.manifest.id,
      payload,
      bounds,
      quote: new JobQuote(0n, { ...(await model.price()), pricing: null }, bounds),
      deadlineMs,
      disconnected,
    };
    const collector = new EmbeddingCollector(texts.length);
    await this.runner.run<EmbeddingEvent>(job, (event) => collector.add(event));
    return collector.all().map(numbersOf);
  }

  async prepare(model: ModelRequest, { text, param, deadlineMs }: EmbeddedText): Promise<InputWork<number[]>> {
    model.requireServed();
    const { maxInputTokens } = embeddingMembers(model.manifest);
    const { pricing } = await model.price();
    const payload = { texts: [shortened(text, maxInputTokens - tokensAround)], dimensions: null };
    const bounds = { ...noTokens, promptTokens: maxEmbeddingTokens(payload, { maxInputTokens, pricing }) };
    let limited: LimitedModelRequest | null = null;
    return {
      contentHash: createHash('sha256').update(text).digest('hex'),
      amountNano: quoteEmbedding(payload, { maxInputTokens, pricing }),
      limit: async () => void (limited = await model.limit()),
      run: async (amountNano) => {
        if (limited === null) throw new Error('The limits of an embedding were not applied.');
        const jobSpec = { definition: embeddingJob, payload, bounds, deadlineMs, amountNano };
        const { collected } = await limited
          .collect(jobSpec, () => new EmbeddingCollector(1))
          .catch((error: unknown) => {
            throw named(error, param);
          });
        return numbersOf(Buffer.concat(collected.all()));
      },
    };
  }
}

const bytesPerNumber = 4;

/** Little-endian float32. */
function numbersOf(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / bytesPerNumber }, (_, index) => bytes.readFloatLE(index * bytesPerNumber));
}

/** A token is at least a byte, so a text of that many bytes fits. Questions stand at either end of a long text. */
function shortened(whole: string, maxBytes: number): string {
  const text = whole.normalize('NFKC');
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const half = Math.floor((maxBytes - 1) / 2);
  const bytes = Buffer.from(text);
  const [head, tail] = [bytes.subarray(0, half), bytes.subarray(-half)].map((part) => part.toString('utf8'));
  // A character that was cut in two is no character any more.
  return `${head} ${tail}`.replaceAll('\uFFFD', '');
}

function named(error: unknown, param: string): unknown {
  if (!(error instanceof PlatformError) || error.code !== 'INFERENCE_FAILED') return error;
  return new PlatformError(error.code, 'The question could not be embedded.', param, { cause: error });
}
