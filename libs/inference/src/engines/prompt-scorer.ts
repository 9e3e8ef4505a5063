import { PlatformError } from '#common';
import { maxScoredTokens, type PromptScores, type PromptToken } from '../contract/text-generation.js';
import type { TokenScore } from '../sampling/token-score.js';
import type { Detokenizer, TextTokenizer } from '../text/index.js';

/** Tokens of one event: a message per token would cost four processes more than the token costs the model. */
const tokensPerEvent = 64;

/** Lowest log-probability that is reported: JSON knows no infinity. */
const minLogprob = -9_999;

/** Throws `INVALID_REQUEST` for a prompt that is too long to be scored. */
export function checkScoredLength(tokens: number, param: string): void {
  if (tokens <= maxScoredTokens) return;
  const message = `Log-probabilities are returned for prompts of at most ${maxScoredTokens} tokens; this one has ${tokens}.`;
  throw new PlatformError('INVALID_REQUEST', message, param);
}

/** Describes the scored tokens of a prompt for one choice, with where each begins in the prompt's text. */
export class PromptScorer {
  private readonly detokenizer: Detokenizer;
  private waiting: PromptToken[] = [];
  private characters = 0;

  constructor(
    private readonly tokenizer: TextTokenizer,
    private readonly index: number,
    firstId: number,
  ) {
    this.detokenizer = tokenizer.detokenizer({ stripLeadingSpaces: true });
    this.push(firstId, null);
  }

  /** Adds a token; null where nothing came before it. Returns an event when enough tokens wait. */
  push(tokenId: number, score: TokenScore | null): PromptScores | null {
    const described = (id: number, logprob: number) => ({
      ...this.tokenizer.describeToken(id),
      logprob: Math.max(minLogprob, logprob),
    });
    this.waiting.push({
      ...this.tokenizer.describeToken(tokenId),
      logprob: score && Math.max(minLogprob, score.logprob),
      topLogprobs: score === null ? [] : score.top.map(({ id, logprob }) => described(id, logprob)),
      startsAt: this.characters,
    });
    // A token may be part of a character; the text goes on when the character is complete.
    this.characters += [...this.detokenizer.push(tokenId)].length;
    return this.waiting.length < tokensPerEvent ? null : this.take();
  }

  /** Returns what waits; null if nothing does. */
  take(): PromptScores | null {
    const scores = this.waiting;
    this.waiting = [];
    return scores.length === 0 ? null : { type: 'prompt-scores', index: this.index, scores };
  }
}
