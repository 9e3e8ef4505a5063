import { PlatformError } from '#common';
import { floatsOf } from '../runtime/float-tensor.js';
import type { GraphSession } from '../runtime/graph-session.js';
import { encoderFeeds } from './encoder-feeds.js';
import { type EncoderGraph, inspectEncoder } from './encoder-graph.js';
import { cosine, poolTokens, type Pooling } from './pooling.js';
import type { SentenceSettings } from './sentence-settings.js';

/** Below this cosine, a vector counts as changed by the rest of its batch. */
const sameVector = 0.9999;

/** Turns token ids of texts into pooled vectors, with one run of the graph per batch. */
export class SentenceEncoder {
  private readonly graph: EncoderGraph;
  /** Null if the graph returns the vectors of texts. */
  private readonly pooling: Pooling | null;

  constructor(
    private readonly session: GraphSession,
    settings: SentenceSettings,
    private readonly padId: number,
  ) {
    this.graph = inspectEncoder(session, { wholeText: settings.needsWholeGraph });
    this.pooling = this.graph.granularity === 'text' ? null : settings.pooling;
    if (this.graph.granularity === 'tokens' && this.pooling === null) throw unknownPooling();
  }

  /** True if the graph returns the vectors of texts, so no setting changes how they are made. */
  get poolsItself(): boolean {
    return this.pooling === null;
  }

  get provider(): string {
    return this.session.provider;
  }

  get providerNote(): string | null {
    return this.session.providerNote;
  }

  /** Returns one vector per row, neither truncated nor normalized. Rejects with the runtime's error. */
  async encode(rows: readonly Int32Array[]): Promise<Float32Array[]> {
    const { inputs, output } = this.graph;
    const { pooling } = this;
    const batch = rows.map((ids) => ({ ids }));
    const { feeds, longest } = encoderFeeds(this.session, inputs, { rows: batch, padId: this.padId });
    const fetched = (await this.session.run(feeds, [output.name]))[output.name];
    if (fetched === undefined) throw new PlatformError('INFERENCE_FAILED', 'The model returned no vectors.');
    const data = floatsOf(fetched);
    const size = fetched.dims.at(-1) ?? 0;
    if (pooling === null) return rows.map((_row, index) => data.slice(index * size, (index + 1) * size));
    return rows.map((row, index) =>
      poolTokens(pooling, { data, offset: index * longest * size, length: row.length, size }),
    );
  }

  /**
   * Returns true when a text gets a different vector in a batch than alone. Dynamically quantised weights use one scale
   * for the whole batch. Such a model must run row by row.
   */
  async mixesRows(rows: readonly Int32Array[]): Promise<boolean> {
    const together = await this.encode(rows);
    for (const [index, row] of rows.entries()) {
      const [alone] = await this.encode([row]);
      const beside = together[index];
      if (alone === undefined || beside === undefined || !(cosine(alone, beside) >= sameVector)) return true;
    }
    return false;
  }

  async release(): Promise<void> {
    await this.session.release();
  }
}

function unknownPooling(): PlatformError {
  const reason = 'nothing says how the vectors of its tokens become that of a text';
  const way = 'its model card does: set familyOptions.pooling of the manifest to mean, cls, last or max';
  return new PlatformError('INVALID_MODEL', `The pooling of this model is not known: ${reason}; ${way}.`);
}
