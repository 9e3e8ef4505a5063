import type { TokenScore } from '../sampling/token-score.js';
import type { Detokenizer, ReasoningScanner, StopMatcher, TextTokenizer } from '../text/index.js';
import type { GeneratedTokenLogprob } from '../contract/text-generation.js';
import type { CallBudget } from './call-budget.js';

/** New text of a choice with its tokens. */
export interface ChoiceDelta {
  text: string;
  tokens: number;
  logprobs: GeneratedTokenLogprob[] | null;
}

/** A log-probability waiting for the text of its token. */
interface WaitingLogprob {
  /** Length of the choice's text before this token. */
  startsAt: number;
  entry: GeneratedTokenLogprob;
}

export interface ChoiceWriterDependencies {
  tokenizer: TextTokenizer;
  detokenizer: Detokenizer;
  stopMatcher: StopMatcher;
  /** Finds the reasoning, in which stop strings are text like any other; null if there is none. */
  scanner?: ReasoningScanner | null;
  /** Ends the text behind the last tool call that fits; null where there are no several calls. */
  callBudget?: CallBudget | null;
  withLogprobs: boolean;
}

/**
 * Turns the tokens of one choice into deltas. Deltas contain whole characters and nothing of a stop string. Every token
 * is counted once, in the delta that carries its text.
 */
export class ChoiceWriter {
  private tokens = 0;
  private waitingTokens = 0;
  private waitingLogprobs: WaitingLogprob[] = [];
  private decodedLength = 0;
  private sentLength = 0;
  private stopped = false;

  constructor(private readonly dependencies: ChoiceWriterDependencies) {}

  /** The stop string that ended the text; null if none did. */
  get stopString(): string | null {
    return this.dependencies.stopMatcher.found;
  }

  /** Returns the delta of one more token, null while its text is held back, and whether a stop string is complete. */
  push(tokenId: number, score: TokenScore | null): { delta: ChoiceDelta | null; stopped: boolean } {
    this.tokens++;
    this.waitingTokens++;
    if (this.dependencies.withLogprobs && score !== null) this.addLogprob(tokenId, score);
    const decoded = this.dependencies.detokenizer.push(tokenId);
    this.decodedLength += decoded.length;
    const { text, stopped } = this.untilStop(decoded);
    this.stopped = stopped;
    return { delta: stopped ? this.take(text) : text === '' ? null : this.take(text), stopped };
  }

  /**
   * Flushes the remaining text after the last token; null if nothing is left to send or to count. `isCut`: the model did
   * not end the text itself, so that its last character may be incomplete.
   */
  finish({ isCut }: { isCut: boolean }): ChoiceDelta | null {
    if (this.stopped) return null;
    const { text, stopped } = this.untilStop(this.dependencies.detokenizer.flush(isCut), true);
    this.stopped = stopped;
    const rest = stopped ? text : text + this.dependencies.stopMatcher.flush();
    const isNothing = rest === '' && this.waitingTokens === 0 && this.waitingLogprobs.length === 0;
    return isNothing ? null : this.take(rest, true);
  }

  private untilStop(decoded: string, isLast = false): { text: string; stopped: boolean } {
    const { scanner, stopMatcher } = this.dependencies;
    if (!scanner) return this.untilLastCall(stopMatcher.push(decoded));
    let sent = '';
    for (const { kind, text } of [...scanner.push(decoded), ...(isLast ? scanner.flush() : [])]) {
      const { text: safe, stopped } =
        kind === 'answer' ? this.untilLastCall(stopMatcher.push(text)) : { text, stopped: false };
      sent += safe;
      if (stopped) return { text: sent, stopped };
    }
    return { text: sent, stopped: false };
  }

  private untilLastCall({ text, stopped }: { text: string; stopped: boolean }): { text: string; stopped: boolean } {
    const isLast = this.dependencies.callBudget?.push(text, this.tokens) === true;
    return { text, stopped: stopped || isLast };
  }

  private addLogprob(tokenId: number, score: TokenScore): void {
    const { tokenizer } = this.dependencies;
    const entry = {
      ...tokenizer.describeToken(tokenId),
      logprob: score.logprob,
      topLogprobs: score.top.map(({ id, logprob }) => ({ ...tokenizer.describeToken(id), logprob })),
    };
    this.waitingLogprobs.push({ startsAt: this.decodedLength, entry });
  }

  /**
   * Takes the waiting tokens, and the log-probabilities of those whose text has been sent in part. The others may still
   * be cut off by a stop string; then they are never sent.
   */
  private take(text: string, isLast = false): ChoiceDelta {
    this.sentLength += text.length;
    const isDue = ({ startsAt }: WaitingLogprob): boolean => startsAt < this.sentLength || (isLast && !this.stopped);
    const logprobs = this.dependencies.withLogprobs
      ? this.waitingLogprobs.filter(isDue).map(({ entry }) => entry)
      : null;
    this.waitingLogprobs = this.waitingLogprobs.filter((waiting) => !isDue(waiting));
    const tokens = this.waitingTokens;
    this.waitingTokens = 0;
    return { text, tokens, logprobs };
  }
}
