import type { PromptScoresEvent, TokenLogprob } from '../../contract/chat.events.js';
import type { CompletionLogprobs } from '../../contract/completions/completion.response.js';

/** The log-probabilities of one choice in the form of text completions, with the position of each token in its text. */
export class CompletionScores {
  private readonly decoder = new TextDecoder();
  private offset = 0;
  private taken = emptyScores();

  get isEmpty(): boolean {
    return this.taken.tokens.length === 0;
  }

  add(tokens: readonly TokenLogprob[]): void {
    for (const { token, logprob, bytes, topLogprobs } of tokens) {
      this.taken.tokens.push(token);
      this.taken.token_logprobs.push(logprob);
      this.taken.top_logprobs.push(alternativesOf({ token, logprob, topLogprobs }));
      this.taken.text_offset.push(this.offset);
      // A token may be part of a character; the text goes on when the character is complete.
      const text = bytes === null ? token : this.decoder.decode(Uint8Array.from(bytes), { stream: true });
      this.offset += [...text].length;
    }
  }

  /** Adds tokens of the prompt; those of the text follow where it ends. */
  addPrompt({ scores, text }: Pick<PromptScoresEvent, 'scores' | 'text'>): void {
    this.offset += [...text].length;
    for (const { token, logprob, topLogprobs, startsAt } of scores) {
      this.taken.tokens.push(token);
      this.taken.token_logprobs.push(logprob);
      this.taken.top_logprobs.push(logprob === null ? null : alternativesOf({ token, logprob, topLogprobs }));
      this.taken.text_offset.push(startsAt);
    }
  }

  /** Returns what was added since the last call. */
  take(): CompletionLogprobs {
    const { taken } = this;
    this.taken = emptyScores();
    return taken;
  }
}

function alternativesOf({ token, logprob, topLogprobs }: Omit<TokenLogprob, 'bytes'>): Record<string, number> {
  const alternatives = topLogprobs.map((other): [string, number] => [other.token, other.logprob]);
  return Object.fromEntries([...alternatives, [token, logprob]]);
}

function emptyScores(): CompletionLogprobs {
  return { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
}
