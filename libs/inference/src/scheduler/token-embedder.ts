import type { GraphSession } from '../runtime/graph-session.js';
import { floatsOf, integerTensor } from '../runtime/float-tensor.js';
import type { MediaSpan } from './prompt-media.js';

/** Looks up the embeddings of tokens, for decoders whose graph takes embeddings. */
export class TokenEmbedder {
  /** Time in the session's run calls, in ms. */
  runMs = 0;

  constructor(private readonly session: GraphSession) {}

  /** Returns `[tokens, width]`. Positions of spans, counted from `start` on, hold the span's embeddings. */
  async embed(
    tokenIds: Int32Array,
    { spans, start }: { spans: readonly MediaSpan[]; start: number },
  ): Promise<Float32Array> {
    const embedded = await this.lookUp(tokenIds);
    const width = embedded.length / tokenIds.length;
    for (const span of spans) place(embedded, { span, start, width });
    return embedded;
  }

  async close(): Promise<void> {
    await this.session.release();
  }

  private async lookUp(tokenIds: Int32Array): Promise<Float32Array> {
    const ids = integerTensor(this.session, { input: 'input_ids', data: [...tokenIds], dims: [1, tokenIds.length] });
    const startedAt = performance.now();
    const outputs = await this.session.run({ input_ids: ids }, ['inputs_embeds']);
    this.runMs += performance.now() - startedAt;
    return floatsOf(outputs['inputs_embeds']);
  }
}

/** Writes the part of a span that lies in the given positions. */
function place(
  embedded: Float32Array,
  { span, start, width }: { span: MediaSpan; start: number; width: number },
): void {
  const first = Math.max(span.start, start);
  const end = Math.min(span.start + span.embeddings.length / width, start + embedded.length / width);
  if (first >= end) return;
  const part = span.embeddings.subarray((first - span.start) * width, (end - span.start) * width);
  embedded.set(part, (first - start) * width);
}
