import type { TokenScore } from '../sampling/token-score.js';
import type { SequenceEnd, SequenceListener, SequenceRequest } from './sequence.js';

/** Records what a scheduler reports about one sequence, for tests. */
export class RecordingListener implements SequenceListener {
  cachedTokens: number | null = null;
  readonly tokens: number[] = [];
  readonly scores: (TokenScore | null)[] = [];
  end: SequenceEnd | null = null;
  failure: unknown = null;
  readonly done: Promise<this>;
  private finish: (self: this) => void = () => undefined;

  /** `onEach` is called with every token; its return value, if any, is the listener's. */
  constructor(private readonly onEach?: (tokenId: number, count: number) => 'continue' | 'stop' | undefined) {
    this.done = new Promise((resolve) => (this.finish = resolve));
  }

  onPrompt(cachedTokens: number): void {
    if (this.cachedTokens !== null) throw new Error('The prompt was reported twice.');
    this.cachedTokens = cachedTokens;
  }

  onToken(tokenId: number, score: TokenScore | null): 'continue' | 'stop' {
    if (this.end !== null) throw new Error('A token came after the end.');
    this.tokens.push(tokenId);
    this.scores.push(score);
    return this.onEach?.(tokenId, this.tokens.length) ?? 'continue';
  }

  onEnd(end: SequenceEnd): void {
    this.end = end;
    this.finish(this);
  }

  onFailure(error: unknown): void {
    this.failure = error;
    this.finish(this);
  }
}

/** Returns a greedy request for `maxNewTokens` tokens without an EOS, overridden by `members`. */
export function sequenceRequest(
  members: Partial<SequenceRequest> & { id: string; prompt: readonly number[]; listener: SequenceListener },
): SequenceRequest {
  const { prompt, ...rest } = members;
  return {
    promptIds: Int32Array.from(prompt),
    sampling: { temperature: 0 },
    maxNewTokens: 8,
    eosTokenIds: new Set(),
    stopTokenIds: new Set(),
    topLogprobs: null,
    ...rest,
  };
}
