import type { TokenUsage, WireError } from '#common';
import type { OutputConstraint } from './output-constraint.js';
import type { EngineStats } from './engine-stats.js';

/** How to choose the next token. Absent members take the model's `generation_config.json`. */
export interface SamplingOptions {
  /** 0 is greedy. */
  temperature?: number;
  topP?: number;
  /** 0 keeps all. */
  topK?: number;
  minP?: number;
  /** Dynamic temperature: scales between the two with the entropy of the distribution. */
  minTemperature?: number;
  maxTemperature?: number;
  /** Over the output alone, as OpenAI defines them. */
  frequencyPenalty?: number;
  presencePenalty?: number;
  /** Over prompt and output; 1 is neutral. */
  repetitionPenalty?: number;
  /** Same seed, same model, same build: same text, whatever else is in the batch. */
  seed?: number;
}

export interface ChatTemplateMessage {
  role: string;
  content: string;
  name?: string;
  reasoning_content?: string;
}

export interface ChatPrompt {
  messages: ChatTemplateMessage[];
  /** For the template; absent leaves its own default. */
  enableThinking?: boolean;
  /** Likewise: one of the efforts that the model names. */
  reasoningEffort?: string;
}

export interface TextGenerationRequest {
  id: string;
  /** A conversation for the model's chat template, or a text to continue as it is (BOS added by the tokenizer). */
  prompt: ChatPrompt | { text: string };
  n: number;
  sampling: SamplingOptions;
  /** Absent: up to the model's own limit or the end of the context. */
  maxTokens?: number;
  /** Up to 4 strings that end a choice and are not part of it. */
  stop: string[];
  stopTokenIds: number[];
  /** Null: none; else alternatives per token, 0 to 20. */
  topLogprobs: number | null;
  /** What each choice must look like; absent: anything. */
  constraint?: OutputConstraint;
}

/** One sampled token with its natural-log probability under the unmodified distribution, of the allowed tokens if constrained. */
export interface GeneratedTokenLogprob {
  token: string;
  logprob: number;
  bytes: number[] | null;
  topLogprobs: { token: string; logprob: number; bytes: number[] | null }[];
}

/** New text of a choice with the tokens it stands for. */
export interface TextDelta {
  type: 'text-delta';
  index: number;
  text: string;
  tokens: number;
  logprobs: GeneratedTokenLogprob[] | null;
  /**
   * Where several deltas were joined to one for the way: what each of them was, so that it can be taken apart and what is
   * counted does not depend on the time at which it was sent.
   */
  pieces?: DeltaPiece[];
}

/** A part of a joined delta: characters of its text, its tokens, and entries of its log-probabilities. */
export type DeltaPiece = [characters: number, tokens: number, logprobs: number];

export type TextGenerationEvent =
  /** `opensThinking`: the chat template already opened a `<think>` block; the text begins inside it. */
  | { type: 'prompt-ready'; promptTokens: number; cachedTokens: number; opensThinking?: boolean }
  | TextDelta
  | { type: 'choice-finished'; index: number; finishReason: 'stop' | 'length' }
  /** Last event of a request that ran to its end or was cancelled; usage counts what was generated. */
  | { type: 'finished'; cancelled: boolean; usage: TokenUsage }
  /** Last event of a request that failed. `usage` where tokens were generated before. */
  | { type: 'failed'; error: WireError; usage: TokenUsage | null };

/** What a text engine tells beside: its slots and runs are those of sequences. */
export interface TextEngineStats extends EngineStats {
  /** Tokens of cache in use, and that fit. */
  cacheTokens: number;
  cacheCapacityTokens: number;
  promptTokensTotal: number;
  cachedTokensTotal: number;
  generatedTokensTotal: number;
}

/**
 * Generates text for many requests at once. `submit` never throws for a bad request: it answers `failed`.
 * Events of all requests are delivered in batches, one per step, so that a host sends one message per step.
 */
export interface TextGenerationEngine {
  submit(request: TextGenerationRequest): void;
  /** Ends the request within two steps; `finished` with `cancelled: true` follows. Unknown ids are ignored. */
  cancel(id: string): void;
  stats(): TextEngineStats;
  close(): Promise<void>;
}

/** Receives the events of one step: pairs of request id and event, in order. */
export type TextGenerationSink = (events: [id: string, event: TextGenerationEvent][]) => void;

/** The first run of a session allocates and compiles; a host sends this before it takes requests. */
export const textWarmUp: Omit<TextGenerationRequest, 'id'> = {
  prompt: { text: 'Hello' },
  n: 1,
  sampling: { temperature: 0 },
  maxTokens: 2,
  stop: [],
  stopTokenIds: [],
  topLogprobs: null,
};
