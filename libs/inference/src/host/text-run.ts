import { noTokens, type TokenUsage } from '#common';
import type { EngineEvent } from '../contract/engine.js';
import type { TextGenerationEvent, TextGenerationRequest } from '../contract/text-generation.js';
import { HostRun } from './host-run.js';
import type { RunEvent, RunOptions, RunResult } from './text-generation-runner.js';

/** A text generation run. It may be retried if the caller has received no text or can revoke it. */
export class TextRun extends HostRun<RunResult> {
  private promptReported = false;
  private sentText = false;
  private usage: TokenUsage = { ...noTokens };

  constructor(
    request: TextGenerationRequest,
    private readonly options: RunOptions,
    onEnd: () => void,
  ) {
    super(request, options.signal, onEnd);
  }

  accept(events: EngineEvent[]): void {
    const passed: RunEvent[] = [];
    let last: Extract<TextGenerationEvent, { type: 'finished' | 'failed' }> | null = null;
    for (const event of events as TextGenerationEvent[]) {
      if (event.type === 'finished' || event.type === 'failed') last = event;
      else if (this.isNews(event)) passed.push(event);
    }
    if (passed.length > 0 && !this.ended) this.options.onEvents(passed);
    if (last?.type === 'finished') this.finish({ cancelled: last.cancelled, usage: last.usage });
    else if (last?.type === 'failed') this.failedInHost(last);
  }

  protected get hasDelivered(): boolean {
    return this.sentText;
  }

  protected override cancelDelivery(): boolean {
    if (this.options.onRestart === undefined) return false;
    this.promptReported = false;
    this.sentText = false;
    this.usage = { ...noTokens };
    this.options.onRestart();
    return true;
  }

  protected cancelledResult(): RunResult {
    return { cancelled: true, usage: { ...this.usage } };
  }

  private isNews(event: RunEvent): boolean {
    if (event.type === 'prompt-ready') {
      // The caller was already informed; the new host computes the prompt again.
      if (this.promptReported) return false;
      this.promptReported = true;
      this.usage.promptTokens = event.promptTokens;
      this.usage.cachedTokens = event.cachedTokens;
    } else if (event.type !== 'constraint-ready') {
      this.sentText = true;
      if (event.type === 'text-delta' || event.type === 'sealed-delta') this.usage.completionTokens += event.tokens;
      if (event.type === 'sealed-delta') this.usage.reasoningTokens += event.reasoningTokens;
    }
    return true;
  }
}
