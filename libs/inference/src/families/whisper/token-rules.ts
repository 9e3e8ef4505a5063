import type { WhisperTokens } from './whisper.tokens.js';

/** Masks tokens that may not come next, as the reference does (ApplyTimestampRules, SuppressBlank, SuppressTokens). */
export class TokenRules {
  constructor(
    private readonly tokens: WhisperTokens,
    private readonly options: { timestamps: boolean },
  ) {}

  /** Sets the logits of tokens that may not follow `written` to -Infinity, in place. */
  apply(logits: Float32Array, written: readonly number[]): void {
    const { suppressed, suppressedFirst } = this.tokens;
    for (const id of suppressed) logits[id] = -Infinity;
    if (written.length === 0) for (const id of suppressedFirst) logits[id] = -Infinity;
    if (this.options.timestamps) this.applyTimestamps(logits, written);
    else logits.fill(-Infinity, this.tokens.noTimestamps);
  }

  private applyTimestamps(logits: Float32Array, written: readonly number[]): void {
    const { noTimestamps, timestampBegin, endOfText, maxFirstTimestamp } = this.tokens;
    logits[noTimestamps] = -Infinity;
    const afterTime = this.isTime(written.at(-1));
    const afterPair = afterTime && (written.length < 2 || this.isTime(written.at(-2)));
    // Timestamps come in pairs, except the first and the last.
    if (afterPair) logits.fill(-Infinity, timestampBegin);
    else if (afterTime) logits.fill(-Infinity, 0, endOfText);

    const lastTime = written.findLast((id) => id >= timestampBegin);
    if (lastTime !== undefined) {
      // Timestamps never decrease, and only the second of a pair may equal the first.
      const earliest = afterTime && !afterPair ? lastTime : lastTime + 1;
      logits.fill(-Infinity, timestampBegin, earliest);
    }
    if (written.length === 0) {
      logits.fill(-Infinity, 0, timestampBegin);
      logits.fill(-Infinity, timestampBegin + maxFirstTimestamp + 1);
    }
    if (timesOutweighText(logits, timestampBegin)) logits.fill(-Infinity, 0, timestampBegin);
  }

  private isTime(id: number | undefined): boolean {
    return id !== undefined && this.tokens.isTimestamp(id);
  }
}

/** Returns true when all timestamps together are likelier than the likeliest text token. */
function timesOutweighText(logits: Float32Array, timestampBegin: number): boolean {
  let bestText = -Infinity;
  for (let id = 0; id < timestampBegin; id++) {
    const logit = logits[id] as number;
    if (logit > bestText) bestText = logit;
  }
  let bestTime = -Infinity;
  for (let id = timestampBegin; id < logits.length; id++) {
    const logit = logits[id] as number;
    if (logit > bestTime) bestTime = logit;
  }
  if (bestTime === -Infinity) return false;
  let sum = 0;
  for (let id = timestampBegin; id < logits.length; id++) sum += Math.exp((logits[id] as number) - bestTime);
  return bestTime + Math.log(sum) > bestText;
}
