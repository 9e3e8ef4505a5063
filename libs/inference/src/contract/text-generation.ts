import type { TokenUsage, WireError } from '#common';
import type { RgbPixels } from '../images/pixel-grid.js';
import type { OutputConstraint } from './output-constraint.js';
import type { RelaxedKeyword } from './relaxed-keyword.js';
import type { ReasoningFormat } from './reasoning-format.js';
import type { EngineStats } from './engine-stats.js';
import type { ToolCall, ToolStyleName, ToolUse } from './tool-use.js';

/** Sampling settings. Absent members default to the model's `generation_config.json`. */
export interface SamplingOptions {
  /** 0 is greedy. */
  temperature?: number;
  topP?: number;
  /** 0 disables it. */
  topK?: number;
  minP?: number;
  /** Dynamic temperature: varies between the two with the entropy of the distribution. */
  minTemperature?: number;
  maxTemperature?: number;
  /** Over the output only, as OpenAI defines them. */
  frequencyPenalty?: number;
  presencePenalty?: number;
  /** Over prompt and output; 1 is neutral. */
  repetitionPenalty?: number;
  /** Added to the logits of tokens, by their ids, before penalties and temperature: −100 to 100 each. */
  logitBias?: Readonly<Record<string, number>>;
  /** The same seed, model and build give the same text, whatever else is in the batch. */
  seed?: number;
}

/** An image of a conversation. */
export interface PromptImage {
  /** Images with the same hash are the same image; at least 16 bytes in hexadecimal. */
  hash: string;
  pixels: RgbPixels;
  /** A frame of a video: read as a whole, with as few tokens as the model can. */
  isFrame?: boolean;
  /** Field of the caller's request, for refusals. */
  param: string;
}

export interface ChatTemplateMessage {
  role: string;
  content: string;
  /** Where images stand in `content`, in UTF-16 units from its start, in order. */
  imagePositions?: number[];
  name?: string;
  reasoning_content?: string;
  /** Where a part to cache ends in `content`, in UTF-16 units; no part of the template's message. */
  cacheMark?: number;
  /** Calls of an assistant's message. */
  toolCalls?: ToolCall[];
  /** Of a message of role `tool`: the call it is the result of. */
  toolCallId?: string;
}

export interface ChatPrompt {
  messages: ChatTemplateMessage[];
  /** The images of all messages, in order; only for models that see. */
  images?: PromptImage[];
  /** Passed to the template; absent uses its default. False closes each reasoning block at once, if need be. */
  enableThinking?: boolean;
  /** Passed to the template: one of the model's reasoning efforts. */
  reasoningEffort?: string;
  /** Tokens of reasoning after which its block is closed by force; absent: no bound of its own. */
  thinkingBudget?: number;
  /** Passed to the template, in the form that templates know. */
  tools?: object[];
}

/** Text to continue unchanged: without a chat template, and with all of its output as text. */
export type BarePrompt = (
  | { /** The tokenizer adds BOS. */ text: string }
  | {
      /** Of the model's own tokenizer, BOS included; unknown ones are refused. */
      tokenIds: number[];
      /** Reports their text with `prompt-ready`. */
      reportsText?: boolean;
    }
) & {
  /** Field of the caller's request, for refusals; default `messages`. */
  param?: string;
};

/** How the texts of a request are sealed (`#tee/sealing`). Keys are uncompressed ones of secp256k1: 130 hex characters. */
export interface RequestSealing {
  /** Everything that the model writes is sealed for it. */
  clientPublicKey: string;
  /** The messages are sealed for it; a host with another key refuses the request. */
  hostPublicKey: string;
  /** Leaves reasoning out instead of sealing it. */
  stripThinking: boolean;
}

export interface TextGenerationRequest {
  id: string;
  /** A conversation for the model's chat template, or text to continue. */
  prompt: ChatPrompt | BarePrompt;
  /** Model id of the adapter that answers; absent: the model itself. */
  adapter?: string;
  /** How long its cached prefix is kept before those of others, in ms; absent: as long as there is room. */
  cacheMs?: number;
  /** Requests of other scopes copy only the platform's own part of its cached prompt; absent: one scope for all. */
  cacheScope?: string;
  /** Starts before the waiting requests, and also where only spare slots are free. */
  mayUseSpareSlot?: boolean;
  /** Label of the account, to which refused constraints are counted; absent: all such requests count together. */
  caller?: string;
  /** Leading characters of the first message that the platform wrote; default: none. */
  platformCharacters?: number;
  n: number;
  sampling: SamplingOptions;
  /** 0 generates nothing. Absent: up to the model's limit or the end of the context. */
  maxTokens?: number;
  /** Up to 4 strings that end a choice and are not part of it. */
  stop: string[];
  stopTokenIds: number[];
  /** Null for none; else alternatives per token, 0 to 20. */
  topLogprobs: number | null;
  /**
   * Reports the log-probabilities of the prompt with `prompt-scores`; only of text to continue, and with `topLogprobs`.
   * The prompt is then computed token by token, and nothing of it is copied from a cached prefix.
   */
  scoresPrompt?: boolean;
  /** Only counts the tokens of the prompt: `prompt-ready` is followed by `finished`, and nothing is computed. */
  countsOnly?: boolean;
  /**
   * A conversation that does not fit loses its oldest messages, but for system messages at its beginning. Else it is
   * refused with `TOO_MANY_TOKENS`.
   */
  truncates?: boolean;
  /** What each choice must look like; absent: anything. */
  constraint?: OutputConstraint;
  /** Sends `constraint-ready`. Default: false. */
  reportsConstraint?: boolean;
  /** Functions that the model may call; only with a conversation. A call keeps to the schema of its arguments. */
  tools?: ToolUse;
  /**
   * The contents of system and user messages are sealed, others and stop strings may be. The host opens them, and sends
   * `sealed-delta` instead of `text-delta`. Absent: nothing is sealed. Engines never see it.
   */
  sealing?: RequestSealing;
}

/** One sampled token with its natural-log probability under the unmodified distribution, of the allowed tokens if constrained. */
export interface GeneratedTokenLogprob {
  token: string;
  logprob: number;
  bytes: number[] | null;
  topLogprobs: { token: string; logprob: number; bytes: number[] | null }[];
}

/** Maximum number of tokens of prompts with log-probabilities: a response with those of more takes too much memory. */
export const maxScoredTokens = 32_768;

/** One token of a prompt with its natural-log probability under the unmodified distribution; the first one has none. */
export interface PromptToken extends Omit<GeneratedTokenLogprob, 'logprob'> {
  logprob: number | null;
  /** Characters of the prompt's text before it. */
  startsAt: number;
}

/** The next tokens of the prompt, scored for a choice. All of them come before its text and before `prompt-ready`. */
export interface PromptScores {
  type: 'prompt-scores';
  index: number;
  scores: PromptToken[];
}

/** New text of a choice with its tokens. */
export interface TextDelta {
  type: 'text-delta';
  index: number;
  text: string;
  tokens: number;
  logprobs: GeneratedTokenLogprob[] | null;
  /**
   * Pieces of a delta that joined several, so that it can be split again and counts do not depend on message timing.
   */
  pieces?: DeltaPiece[];
}

/** New text of a choice, sealed by its host. */
export interface SealedDelta {
  type: 'sealed-delta';
  index: number;
  channel: 'content' | 'reasoning';
  /** One sealed field; empty for tokens that have no text. */
  field: string;
  tokens: number;
  /** Those of `tokens` that are reasoning. */
  reasoningTokens: number;
}

/** Piece of a joined delta: number of characters, tokens and log-probabilities. */
export type DeltaPiece = [characters: number, tokens: number, logprobs: number];

export type TextGenerationEvent =
  /**
   * `opensThinking`: the chat template already opened a reasoning block, so the output begins inside it. `reasoning`: how
   * the model marks those blocks, if it is known to write any. `toolStyle`: how it writes calls, for a request with
   * tools. `promptText`: what the token ids of the prompt mean, if it was asked for. `relaxed`: what was left out of
   * schemas that are not strict.
   */
  | {
      type: 'prompt-ready';
      promptTokens: number;
      cachedTokens: number;
      opensThinking?: boolean;
      toolStyle?: ToolStyleName;
      reasoning?: ReasoningFormat;
      promptText?: string;
      relaxed?: readonly (RelaxedKeyword & { param: string })[];
    }
  /** The constraint of a request with `reportsConstraint` is compiled, so that it is no longer refused for it. */
  | { type: 'constraint-ready' }
  | PromptScores
  | TextDelta
  | SealedDelta
  /** `stopString`: the stop string of the request that ended the text; absent if none did. */
  | { type: 'choice-finished'; index: number; finishReason: 'stop' | 'length'; stopString?: string }
  /** Last event of a completed or cancelled request; usage counts the generated tokens. */
  | { type: 'finished'; cancelled: boolean; usage: TokenUsage }
  /** Last event of a failed request. `usage` is present if tokens were generated before. */
  | { type: 'failed'; error: WireError; usage: TokenUsage | null };

/** Additional statistics of a text engine; its slots and runs are those of sequences. */
export interface TextEngineStats extends EngineStats {
  /** Cache tokens in use, and the capacity. */
  cacheTokens: number;
  cacheCapacityTokens: number;
  promptTokensTotal: number;
  cachedTokensTotal: number;
  generatedTokensTotal: number;
  /** Tokens that prompt lookup drafted, and those of them that were right. */
  draftTokensTotal: number;
  acceptedDraftTokensTotal: number;
}

export function isBarePrompt(prompt: TextGenerationRequest['prompt']): prompt is BarePrompt {
  return !('messages' in prompt);
}

/**
 * Generates text for many requests concurrently. `submit` never throws for an invalid request, which ends with
 * `failed`. Events of all requests are delivered in one batch per step, so a host sends one message per step.
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

/**
 * Warm-up request that a host sends before it accepts others, because the first run of a session allocates and
 * compiles.
 */
export const textWarmUp: Omit<TextGenerationRequest, 'id'> = {
  prompt: { text: 'Hello' },
  n: 1,
  sampling: { temperature: 0 },
  maxTokens: 2,
  stop: [],
  stopTokenIds: [],
  topLogprobs: null,
};

/**
 * A prompt and a text of some tokens, whose log-probabilities differ by little between providers. The prompt has more than
 * 32 tokens: from there on, providers have kernels of their own.
 */
export const textTrial: Omit<TextGenerationRequest, 'id'> = {
  ...textWarmUp,
  prompt: {
    text:
      'The river runs from the hills to the sea, and the old road follows it past mills and bridges and small towns. ' +
      'In the morning a boat goes down, and in the evening it comes back with bread, letters and news. One day',
  },
  maxTokens: 8,
  topLogprobs: 5,
};
