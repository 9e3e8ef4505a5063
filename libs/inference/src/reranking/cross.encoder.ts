import { PlatformError } from '#common';
import { encoderFeeds, type EncoderRow, inspectCrossEncoder } from '../embedding/index.js';
import { floatsOf } from '../runtime/float-tensor.js';
import type { GraphSession } from '../runtime/graph-session.js';

/** A larger difference of logits counts as changed by the rest of the batch. */
const sameLogit = 0.01;

/** Turns pairs of texts into logits, with one run of the graph per batch. */
export class CrossEncoder {
  private readonly graph: ReturnType<typeof inspectCrossEncoder>;

  constructor(
    private readonly session: GraphSession,
    private readonly padId: number,
  ) {
    this.graph = inspectCrossEncoder(session);
  }

  get provider(): string {
    return this.session.provider;
  }

  get providerNote(): string | null {
    return this.session.providerNote;
  }

  /** Returns one logit per pair, each in an array of its own. Rejects with the runtime's error. */
  async encode(rows: readonly EncoderRow[]): Promise<Float32Array[]> {
    const { inputs, output } = this.graph;
    const { feeds } = encoderFeeds(this.session, inputs, { rows, padId: this.padId });
    const logits = floatsOf((await this.session.run(feeds, [output]))[output]);
    if (logits.length !== rows.length) {
      const message = `The model returned ${logits.length} scores for ${rows.length} texts, not one for each.`;
      throw new PlatformError('INVALID_MODEL', message);
    }
    return rows.map((_row, index) => logits.slice(index, index + 1));
  }

  /** Returns true when a pair gets a different logit in a batch than alone, as with dynamically quantised weights. */
  async mixesRows(rows: readonly EncoderRow[]): Promise<boolean> {
    const together = await this.encode(rows);
    for (const [index, row] of rows.entries()) {
      const [alone] = await this.encode([row]);
      const difference = Math.abs((alone?.[0] ?? Number.NaN) - (together[index]?.[0] ?? Number.NaN));
      if (!(difference <= sameLogit)) return true;
    }
    return false;
  }

  async release(): Promise<void> {
    await this.session.release();
  }
}
