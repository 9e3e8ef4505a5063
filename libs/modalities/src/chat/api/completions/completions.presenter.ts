import type { JobQuote } from '#billing';
import { type NanoUsd, PlatformError, type TokenUsage } from '#common';
import type { EventPresenter } from '#gateway';
import type { Pricing } from '#model-registry/manifest';
import type { ChatEvent } from '../../contract/chat.events.js';
import { chatCost, choiceCount } from '../../contract/chat.meter.js';
import type { CompletionChoice, CompletionResponse } from '../../contract/completions/completion.response.js';
import type { NormalizedChat } from '../job/chat.normalizer.js';
import { presentUsage } from '../chat/chat.presenter.js';
import { CompletionScores } from './completion-scores.js';

/** The members that every chunk of a completion repeats. */
export interface CompletionHead {
  id: string;
  /** Unix seconds. */
  created: number;
  modelId: string;
  /** Choices of all prompts. */
  choices: number;
  withLogprobs: boolean;
  pricing: Pricing | null;
  /** DIEM that the request reserves. */
  heldDiemNano: NanoUsd;
}

/** The id in the body of a completion. */
export function completionId(requestId: string): string {
  return `cmpl-${requestId}`;
}

/** Builds the repeated members of a completion from the admitted job. */
export function completionHead(
  requestId: string,
  { payload }: NormalizedChat,
  { price, heldDiemNano }: JobQuote,
): CompletionHead {
  return {
    id: completionId(requestId),
    created: Math.floor(Date.now() / 1000),
    modelId: price.modelId,
    choices: choiceCount(payload),
    withLogprobs: payload.topLogprobs !== null,
    pricing: price.pricing,
    heldDiemNano,
  };
}

function presentCosts(usage: TokenUsage, { pricing, heldDiemNano }: CompletionHead) {
  return { usage: presentUsage(usage), cost: chatCost(usage, pricing, heldDiemNano) };
}

/** Collects the events of one request for a client that does not stream. */
export class CompletionCollector {
  private readonly choices: { text: string[]; scores: CompletionScores; finishReason: 'stop' | 'length' }[];

  constructor(private readonly head: CompletionHead) {
    this.choices = Array.from({ length: head.choices }, () => ({
      text: [],
      scores: new CompletionScores(),
      finishReason: 'stop',
    }));
  }

  add(event: ChatEvent): void {
    const choice = 'index' in event ? this.choices[event.index] : undefined;
    if (choice === undefined) return;
    if (event.type === 'choice-finished') choice.finishReason = event.finishReason === 'length' ? 'length' : 'stop';
    if (event.type === 'prompt-scores') choice.scores.addPrompt(event);
    if (event.type === 'text-delta') choice.scores.add(event.logprobs ?? []);
    if ('text' in event) choice.text.push(event.text);
  }

  completion(usage: TokenUsage): CompletionResponse {
    const { id, created, modelId, withLogprobs } = this.head;
    const choices = this.choices.map(({ text, scores, finishReason }, index): CompletionChoice => ({
      text: text.join(''),
      index,
      logprobs: withLogprobs ? scores.take() : null,
      finish_reason: finishReason,
    }));
    return { id, object: 'text_completion', created, model: modelId, choices, ...presentCosts(usage, this.head) };
  }
}

/** Converts the events of one request to the JSON of its chunks. */
export class CompletionChunkPresenter implements EventPresenter<ChatEvent> {
  private readonly scores: CompletionScores[];
  private textSent = false;

  constructor(
    private readonly head: CompletionHead,
    private readonly includeUsage: boolean,
  ) {
    this.scores = Array.from({ length: head.choices }, () => new CompletionScores());
  }

  /** Throws `INFERENCE_FAILED` if another worker took the job over after part of the completion was sent. */
  present(event: ChatEvent): string[] {
    if (event.type === 'prompt-ready' && this.textSent) {
      throw new PlatformError('INFERENCE_FAILED', 'The response was interrupted.');
    }
    if (event.type === 'choice-finished') {
      const { index, finishReason } = event;
      return [this.chunk([{ text: '', index, logprobs: null, finish_reason: finishReason }])];
    }
    if (event.type !== 'text-delta' && event.type !== 'prompt-scores') return [];
    const { index, text } = event;
    // Scores of a prompt come before it is ready.
    this.textSent ||= event.type === 'text-delta' || text !== '';
    const scores = this.scores[index];
    if (event.type === 'text-delta') scores?.add(event.logprobs ?? []);
    else scores?.addPrompt(event);
    const scored = this.head.withLogprobs && scores !== undefined && !scores.isEmpty;
    if (text === '' && !scored) return [];
    return [this.chunk([{ text, index, logprobs: scored ? scores.take() : null, finish_reason: null }])];
  }

  finish(usage: TokenUsage): string[] {
    return this.includeUsage ? [this.chunk([], presentCosts(usage, this.head))] : [];
  }

  private chunk(choices: object[], costs: object = this.includeUsage ? { usage: null } : {}): string {
    const { id, created, modelId } = this.head;
    return JSON.stringify({ id, object: 'text_completion', created, model: modelId, choices, ...costs });
  }
}
