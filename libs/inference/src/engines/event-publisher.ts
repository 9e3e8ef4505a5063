import type { DeltaPiece, TextDelta, TextGenerationEvent, TextGenerationSink } from '../contract/text-generation.js';

/**
 * How long text of a running choice may wait for more of itself, in ms. A small model makes hundreds of tokens a second,
 * and each message costs four processes more than the token cost the model; no reader sees the difference.
 */
export const gatherMs = 25;

export interface EventPublisherOptions {
  sink: TextGenerationSink;
  /** Default `gatherMs`; 0 sends the events of each step by themselves. */
  gatherMs?: number;
  /** Milliseconds of a clock that never goes back. */
  clock?: () => number;
}

/**
 * Events on their way out, one message for all requests. Text that goes on waits as long as the next step is expected
 * to end within `gatherMs` of the last message, and is joined per choice, each piece still told; everything else, the
 * first text of a choice included, leaves behind the step that brought it and takes along what waits. The order of a
 * request's events stays.
 */
export class EventPublisher {
  private waiting: [id: string, event: TextGenerationEvent][] = [];
  /** Text that waits, by choice. */
  private readonly open = new Map<string, TextDelta>();
  private isUrgent = false;
  private sentAtMs = -Infinity;
  private steppedAtMs = -Infinity;
  private readonly sink: TextGenerationSink;
  private readonly gatherMs: number;
  private readonly clock: () => number;

  constructor(options: EventPublisherOptions) {
    this.sink = options.sink;
    this.gatherMs = options.gatherMs ?? gatherMs;
    this.clock = options.clock ?? (() => performance.now());
  }

  /** An event that must not wait. */
  add(requestId: string, event: TextGenerationEvent): void {
    this.waiting.push([requestId, event]);
    this.isUrgent = true;
  }

  /** Text of a choice, named by its sequence; `isFirst` where its caller has nothing of it yet. */
  addText(sequenceId: string, requestId: string, delta: TextDelta, isFirst: boolean): void {
    this.isUrgent ||= isFirst;
    const before = this.open.get(sequenceId);
    if (before === undefined) {
      this.open.set(sequenceId, delta);
      this.waiting.push([requestId, delta]);
      return;
    }
    (before.pieces ??= [pieceOf(before)]).push(pieceOf(delta));
    before.text += delta.text;
    before.tokens += delta.tokens;
    if (delta.logprobs !== null) before.logprobs = [...(before.logprobs ?? []), ...delta.logprobs];
  }

  /** A step has ended: sends what is due. */
  stepped(): void {
    const now = this.clock();
    const stepMs = now - this.steppedAtMs;
    this.steppedAtMs = now;
    if (this.waiting.length === 0) return;
    if (this.isUrgent || now + stepMs - this.sentAtMs > this.gatherMs) this.send(now);
  }

  private send(now: number): void {
    const events = this.waiting;
    this.waiting = [];
    this.open.clear();
    this.isUrgent = false;
    this.sentAtMs = now;
    this.sink(events);
  }
}

function pieceOf({ text, tokens, logprobs }: TextDelta): DeltaPiece {
  return [text.length, tokens, logprobs?.length ?? 0];
}
