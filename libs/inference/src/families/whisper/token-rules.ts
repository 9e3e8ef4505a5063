import type { WhisperTokens } from './whisper.tokens.js';

/** Which tokens may come next, as the reference rules it (ApplyTimestampRules, SuppressBlank, SuppressTokens). */
export class TokenRules {
  constructor(
    private readonly tokens: WhisperTokens,
    private readonly options: { timestamps: boolean },
  ) {}

  /** Puts what may not follow `written` out of reach, in place. */
  apply(logits: Float32Array, written: readonly number[]): void {
    const { suppressed, suppressedFirst } = this.tokens;
    for (const id of suppressed) logits[id] = -Infinity;
    if (written.length === 0) for (const id of suppressedFirst) logits[id] = -Infinity;
    if (this.options.timestamps) this.applyTimestamps(logits, written);
    else logits.fill(-Infinity, this.tokens.noTimestamps);
  }

  private applyTimestamps(logits: Float32Array, written: readonly number[]): void {
    const { noTimestamps, timestampBegin, endOfText, firstTimestampMost } = this.tokens;
    logits[noTimestamps] = -Infinity;
    const afterTime = this.isTime(written.at(-1));
    const afterPair = afterTime && (written.length < 2 || this.isTime(written.at(-2)));
    // Times come in pairs, but for the first and the last.
    if (afterPair) logits.fill(-Infinity, timestampBegin);
    else if (afterTime) logits.fill(-Infinity, 0, endOfText);

    const lastTime = written.findLast((id) => id >= timestampBegin);
    if (lastTime !== undefined) {
      // They never go back, and only the second of a pair may repeat the first.
      const earliest = afterTime && !afterPair ? lastTime : lastTime + 1;
      logits.fill(-Infinity, timestampBegin, earliest);
    }
    if (written.length === 0) {
      logits.fill(-Infinity, 0, timestampBegin);
      logits.fill(-Infinity, timestampBegin + firstTimestampMost + 1);
    }
    if (timesOutweighText(logits, timestampBegin)) logits.fill(-Infinity, 0, timestampBegin);
  }

  private isTime(id: number | undefined): boolean {
    return id !== undefined && this.tokens.isTimestamp(id);
  }
}

/** True when the times together are likelier than the likeliest text. */
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
