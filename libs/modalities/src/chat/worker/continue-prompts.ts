import { maxScoredTokens } from '#inference/output';
import type { RunEvent, TextGenerationRequest, TextGenerationRunner } from '#inference/host';
import { noTokens, PlatformError, type TokenUsage } from '#common';
import type { JobReport, RunningJob } from '#queue';
import type { ChatEvent, ChatJobPayload, ChatJobPrompt } from '../contract/index.js';
import { MergedEvents } from './merged-events.js';
import { RunClock } from './run-clock.js';

/** A request with many prompts shares the model with others: no more of them run at once. */
const promptsAtOnce = 4;

/** A prompt and the number of its first choice. */
interface NumberedPrompt {
  id: string;
  prompt: ChatJobPrompt;
  firstChoice: number;
}

/**
 * Continues the texts of a job that has no conversation. Rejects with the error of the first prompt that fails; the
 * others are then cancelled. A cancelled job resolves, with what it generated.
 */
export async function continuePrompts(
  runner: TextGenerationRunner,
  job: RunningJob<ChatJobPayload>,
): Promise<JobReport> {
  const { requestId, payload } = job.envelope;
  const { prompts = [], n } = payload;
  const failure = new AbortController();
  const run = new PromptRun(runner, job, AbortSignal.any([job.signal, failure.signal]));
  const waiting = prompts.map((prompt, index): NumberedPrompt => {
    return { id: prompts.length === 1 ? requestId : `${requestId}.${index}`, prompt, firstChoice: index * n };
  });
  const takeAll = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (failure.signal.aborted || job.signal.aborted) return;
      await run.continue(next);
    }
  };
  const lanes = Array.from({ length: promptsAtOnce }, async () => {
    await takeAll().catch((error: unknown) => failure.abort({ error }));
  });
  await Promise.all(lanes);
  if (failure.signal.aborted) throw (failure.signal.reason as { error: unknown }).error;
  return {
    usage: run.usage,
    cancelled: run.cancelled || job.signal.aborted,
    ...run.clock.report(),
  };
}

class PromptRun {
  readonly usage: TokenUsage = { ...noTokens };
  readonly clock = new RunClock();
  cancelled = false;
  private isAnnounced = false;

  constructor(
    private readonly runner: TextGenerationRunner,
    private readonly job: RunningJob<ChatJobPayload>,
    private readonly signal: AbortSignal,
  ) {}

  async continue(numbered: NumberedPrompt): Promise<void> {
    const { stream } = this.job.envelope;
    const isWhole = stream === false;
    // A complete response is sent when its prompt is done, so another host may begin it anew.
    let held: ChatEvent[] = [];
    const { cancelled, usage } = await this.runner.run(this.requestOf(numbered), {
      signal: this.signal,
      onRestart: isWhole ? () => (held = []) : undefined,
      onEvents: (events) => {
        this.clock.see(events);
        const translated = events.flatMap((event) => this.translate(numbered, event));
        if (isWhole) held.push(...translated);
        else this.send(translated);
      },
    });
    const merged = new MergedEvents();
    this.send([...merged.add(held), ...merged.take()]);
    this.cancelled ||= cancelled;
    this.usage.promptTokens += usage.promptTokens;
    this.checkScored();
    this.usage.cachedTokens += usage.cachedTokens;
    this.usage.completionTokens += usage.completionTokens;
    const { cacheWriteTokens } = usage;
    if (cacheWriteTokens !== undefined) {
      this.usage.cacheWriteTokens = (this.usage.cacheWriteTokens ?? 0) + cacheWriteTokens;
    }
  }

  /** Whether each choice begins with the log-probabilities of its prompt. */
  private get isScored(): boolean {
    const { echo, topLogprobs } = this.job.envelope.payload;
    return echo === true && typeof topLogprobs === 'number';
  }

  /** Bounds what the api process holds of one request. */
  private checkScored(): void {
    if (!this.isScored || this.usage.promptTokens <= maxScoredTokens) return;
    const message = `Log-probabilities are returned for prompts of at most ${maxScoredTokens} tokens together.`;
    throw new PlatformError('INVALID_REQUEST', message, 'prompt');
  }

  private send(events: ChatEvent[]): void {
    const news = events.filter((event) => event.type !== 'prompt-ready' || !this.isAnnounced);
    // The prompts of one request become ready one after the other; the first one opens the response.
    this.isAnnounced ||= news.some(({ type }) => type === 'prompt-ready');
    if (news.length > 0) this.job.replies.send(...news);
  }

  private translate({ prompt, firstChoice }: NumberedPrompt, event: RunEvent): ChatEvent[] {
    const { n, echo } = this.job.envelope.payload;
    if (event.type === 'choice-finished') return [{ ...event, index: firstChoice + event.index }];
    if (event.type === 'text-delta') {
      const { index, text, tokens, logprobs } = event;
      return [{ type: 'text-delta', index: firstChoice + index, channel: 'content', text, tokens, logprobs }];
    }
    // Texts to continue are never sealed, and follow no schema.
    if (event.type === 'sealed-delta' || event.type === 'constraint-ready') return [];
    if (event.type === 'prompt-scores') return [{ ...event, index: firstChoice + event.index, text: '' }];
    const { promptTokens, cachedTokens, promptText } = event;
    const ready: ChatEvent = { type: 'prompt-ready', promptTokens, cachedTokens };
    const text = echo === true ? (prompt.text ?? promptText ?? '') : '';
    if (text === '') return [ready];
    const echoes = Array.from({ length: n }, (_, index): ChatEvent => {
      const place = { index: firstChoice + index, text };
      if (this.isScored) return { type: 'prompt-scores', ...place, scores: [] };
      return { type: 'text-delta', ...place, channel: 'content', tokens: 0, logprobs: null };
    });
    return [ready, ...echoes];
  }

  private requestOf({ id, prompt }: NumberedPrompt): TextGenerationRequest {
    const { payload, mayUseSpareSlot = false } = this.job.envelope;
    const { n, sampling, maxTokens, stop, stopTokenIds, topLogprobs, echo, cacheScope, caller } = payload;
    const { text, tokenIds, param } = prompt;
    return {
      id,
      prompt: tokenIds === undefined ? { text: text ?? '', param } : { tokenIds, reportsText: echo === true, param },
      n,
      sampling: { ...sampling, logitBias: payload.logitBias },
      maxTokens,
      stop,
      stopTokenIds,
      topLogprobs: topLogprobs ?? null,
      // Many prompts would leave the waiting requests of others no slot.
      ...(mayUseSpareSlot && payload.prompts?.length === 1 && { mayUseSpareSlot }),
      ...(this.isScored ? { scoresPrompt: true } : {}),
      cacheScope,
      caller,
    };
  }
}
