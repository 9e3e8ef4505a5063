import { send } from '../../api/client.js';
import { RequestError, toSentence } from '../../api/request-error.js';
import { readEvents } from '../../api/sse-reader.js';
import { decimalOf } from '../../format/money.js';
import { RateMeter } from './rate-meter.js';

/** The state of the model, as far as the stream tells. */
export type Phase = 'queued' | 'reading' | 'thinking' | 'answering' | 'done' | 'stopped' | 'failed';

export interface ToolCall {
  id: string;
  name: string;
  input: string;
}

/** The part of an answer that is known so far. */
export interface RunState {
  phase: Phase;
  /** Until the first piece of text or reasoning. */
  firstTokenMs: number | null;
  totalMs: number | null;
  elapsedMs: number;
  /** Tokens per second, reasoning included: live while it runs, then the average. */
  rate: number | null;
  promptTokens: number | null;
  cachedTokens: number | null;
  completionTokens: number | null;
  reasoningTokens: number | null;
  /** Decimal strings. */
  costUsd: string | null;
  costDiem: string | null;
  finishReason: string | null;
  warnings: readonly string[];
  toolCalls: readonly ToolCall[];
  requestId: string | null;
  error: RequestError | null;
}

export const queuedState: RunState = {
  phase: 'queued',
  firstTokenMs: null,
  totalMs: null,
  elapsedMs: 0,
  rate: null,
  promptTokens: null,
  cachedTokens: null,
  completionTokens: null,
  reasoningTokens: null,
  costUsd: null,
  costDiem: null,
  finishReason: null,
  warnings: [],
  toolCalls: [],
  requestId: null,
  error: null,
};

interface Delta {
  role?: string;
  content?: string | null;
  reasoning_content?: string | null;
  tool_calls?: {
    index: number;
    id?: string;
    function?: { name?: string; arguments?: string };
    custom?: { name?: string; input?: string };
  }[];
}

export interface Chunk {
  choices?: { delta?: Delta; finish_reason?: string | null }[];
  usage?: {
    prompt_tokens: number;
    completion_tokens: number;
    prompt_tokens_details?: { cached_tokens?: number } | null;
    completion_tokens_details?: { reasoning_tokens?: number } | null;
  } | null;
  cost?: { usd: number; diem: number };
  warnings?: { code?: string; message?: string }[];
  error?: { message?: string; code?: string } | string;
}

/** Receives text as it comes, so that nothing is rendered twice. */
export interface AnswerSink {
  appendText(text: string): void;
  appendReasoning(text: string): void;
}

/** Follows the chunks of one streamed answer. `clock` returns ms. */
export class AnswerTracker {
  private state: RunState = queuedState;
  private readonly meter = new RateMeter();
  private readonly startedAt: number;

  constructor(
    private readonly sink: AnswerSink,
    private readonly clock: () => number,
  ) {
    this.startedAt = clock();
  }

  /** The state now, with the live rate. */
  snapshot(): RunState {
    if (this.state.totalMs !== null) return this.state;
    const now = this.clock();
    return { ...this.state, elapsedMs: now - this.startedAt, rate: this.meter.live(now) };
  }

  setRequestId(requestId: string | null): void {
    this.state = { ...this.state, requestId };
  }

  add(chunk: Chunk): void {
    if (chunk.error !== undefined) throw errorOf(chunk.error, this.state.requestId);
    for (const choice of chunk.choices ?? []) {
      if (choice.delta !== undefined) this.addDelta(choice.delta);
      if (typeof choice.finish_reason === 'string') this.state = { ...this.state, finishReason: choice.finish_reason };
    }
    this.addUsage(chunk);
    const warnings = (chunk.warnings ?? []).map(({ message, code }) => message ?? code ?? '').filter(Boolean);
    if (warnings.length > 0) this.state = { ...this.state, warnings: [...this.state.warnings, ...warnings] };
  }

  finish(phase: 'done' | 'stopped' | 'failed', error: RequestError | null = null): RunState {
    const totalMs = this.clock() - this.startedAt;
    this.state = { ...this.state, phase, error, totalMs, elapsedMs: totalMs, rate: this.averageRate() };
    return this.state;
  }

  private addDelta({ role, content, reasoning_content: reasoning, tool_calls: calls }: Delta): void {
    // The first chunk has a role only: a worker has accepted the prompt and reads it.
    if (role !== undefined && this.state.phase === 'queued') this.state = { ...this.state, phase: 'reading' };
    if (typeof reasoning === 'string' && reasoning !== '') {
      this.arrive('thinking');
      this.sink.appendReasoning(reasoning);
    }
    if (typeof content === 'string' && content !== '') {
      this.arrive('answering');
      this.sink.appendText(content);
    }
    if (calls !== undefined && calls.length > 0) {
      this.arrive('answering');
      this.state = { ...this.state, toolCalls: addCalls(this.state.toolCalls, calls) };
    }
  }

  /** Chunks are counted as tokens until the usage at the end says how many there were. */
  private arrive(phase: 'thinking' | 'answering'): void {
    const now = this.clock();
    this.meter.add(now);
    this.state = { ...this.state, phase, firstTokenMs: this.state.firstTokenMs ?? now - this.startedAt };
  }

  private addUsage({ usage, cost }: Chunk): void {
    if (usage !== null && usage !== undefined) {
      this.state = {
        ...this.state,
        promptTokens: usage.prompt_tokens,
        completionTokens: usage.completion_tokens,
        cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
        reasoningTokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
      };
    }
    if (cost !== undefined) {
      this.state = { ...this.state, costUsd: decimalOf(cost.usd), costDiem: decimalOf(cost.diem) };
    }
  }

  private averageRate(): number | null {
    const { completionTokens } = this.state;
    const average = this.meter.average();
    if (average === null || completionTokens === null || this.meter.total < 2) return average;
    // Deltas may hold several tokens.
    return (average * completionTokens) / this.meter.total;
  }
}

/** Sends the request and follows the stream until its end. Never throws: failures are a state. */
export async function runChat(
  body: Record<string, unknown>,
  sink: AnswerSink,
  signal: AbortSignal,
  onState: (state: RunState) => void,
): Promise<RunState> {
  const tracker = new AnswerTracker(sink, () => performance.now());
  const ticker = setInterval(() => onState(tracker.snapshot()), 250);
  const end = (...result: Parameters<AnswerTracker['finish']>): RunState => {
    clearInterval(ticker);
    const state = tracker.finish(...result);
    onState(state);
    return state;
  };
  try {
    const response = await send('api/v1/chat/completions', { method: 'POST', body, signal });
    tracker.setRequestId(response.headers.get('x-request-id'));
    for await (const data of readEvents(response)) {
      if (data === '[DONE]') return end('done');
      tracker.add(JSON.parse(data) as Chunk);
    }
    return end('failed', new RequestError(0, 'The connection ended before the answer did.'));
  } catch (error) {
    if (signal.aborted) return end('stopped');
    if (error instanceof RequestError) return end('failed', error);
    return end('failed', new RequestError(0, 'The connection ended before the answer did.'));
  }
}

function errorOf(error: { message?: string; code?: string } | string, requestId: string | null): RequestError {
  const { message, code } = typeof error === 'string' ? { message: error, code: undefined } : error;
  return new RequestError(500, toSentence(message ?? 'The service ended the stream with an error.'), code, requestId);
}

function addCalls(calls: readonly ToolCall[], deltas: NonNullable<Delta['tool_calls']>): ToolCall[] {
  const merged = [...calls];
  for (const { index, id, function: called, custom } of deltas) {
    const known = merged[index] ?? { id: '', name: '', input: '' };
    merged[index] = {
      id: id ?? known.id,
      name: called?.name ?? custom?.name ?? known.name,
      input: known.input + (called?.arguments ?? custom?.input ?? ''),
    };
  }
  return merged;
}
