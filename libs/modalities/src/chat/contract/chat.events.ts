import type { ReplyEvent } from '#queue';

/** One sampled token with its log-probability (natural logarithm). `bytes` are its UTF-8 bytes. */
export interface TokenLogprob {
  token: string;
  logprob: number;
  bytes: number[] | null;
  topLogprobs: { token: string; logprob: number; bytes: number[] | null }[];
}

/** The prompt was accepted: its length, and how many of its tokens came from a cached prefix. Sent once. */
export interface PromptReadyEvent extends ReplyEvent {
  type: 'prompt-ready';
  promptTokens: number;
  cachedTokens: number;
  /** Keywords that the compiler left out of schemas that are not strict; absent: none. */
  relaxed?: readonly { param: string; pointer: string; reason: string }[];
}

/** Tokens of the prompt with which a choice begins, with their log-probabilities, which the first one has not. */
export interface PromptScoresEvent extends ReplyEvent {
  type: 'prompt-scores';
  index: number;
  /** The text of the whole prompt, with the last of its tokens; before that, empty. */
  text: string;
  /** `startsAt`: characters of the prompt's text before the token. */
  scores: (Omit<TokenLogprob, 'logprob'> & { logprob: number | null; startsAt: number })[];
}

/** New text of one choice. Never splits a character; may cover several tokens. */
export interface TextDeltaEvent extends ReplyEvent {
  type: 'text-delta';
  /** Choice index, 0 to n-1. */
  index: number;
  channel: 'content' | 'reasoning';
  text: string;
  /** Tokens this delta covers; zero when it only flushes held-back text. */
  tokens: number;
  logprobs: TokenLogprob[] | null;
}

/** A choice begins a tool call. Sent before the fragments of its arguments. */
export interface ToolCallEvent extends ReplyEvent {
  type: 'tool-call';
  /** Choice index, 0 to n-1. */
  index: number;
  /** Position of the call in its choice, from 0. */
  call: number;
  id: string;
  name: string;
}

/** New text of the arguments of a tool call. The fragments of one call, joined, are a JSON object. */
export interface ToolCallDeltaEvent extends ReplyEvent {
  type: 'tool-call-delta';
  index: number;
  call: number;
  text: string;
  tokens: number;
  logprobs: TokenLogprob[] | null;
}

/** One choice is complete. */
export interface ChoiceFinishedEvent extends ReplyEvent {
  type: 'choice-finished';
  index: number;
  finishReason: 'stop' | 'length' | 'tool_calls';
  /** The stop string that ended the text; absent if none did, and from workers of an older version. */
  stopString?: string;
}

export type ChatEvent =
  PromptReadyEvent | PromptScoresEvent | TextDeltaEvent | ToolCallEvent | ToolCallDeltaEvent | ChoiceFinishedEvent;
