import type { DeltaPiece, TextDelta, TextGenerationEvent, TextGenerationSink } from '../contract/text-generation.js';

/**
 * Maximum delay in ms to join text of a running choice. A small model generates hundreds of tokens per second, and a
 * message costs four processes more than the token costs the model. Readers do not notice the delay.
 */
export const gatherMs = 25;

export interface EventPublisherOptions {
  sink: TextGenerationSink;
  /** Default `gatherMs`; 0 sends the events of each step separately. */
  gatherMs?: number;
  /** Monotonic clock in milliseconds. */
  clock?: () => number;
}

/**
 * Sends engine events, one message for all requests. Further text of a choice waits while the next step is expected to
 * end within `gatherMs` of the last message. It is joined per choice, with its pieces listed. Everything else,
 * including the first text of a choice, is sent after its step together with waiting text. The event order of a request
 * is preserved.
 */
export class EventPublisher {
  private waiting: [id: string, event: TextGenerationEvent][] = [];
  /** Waiting text, by sequence. */
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

  /** Adds an event that must not wait. */
  add(requestId: string, event: TextGenerationEvent): void {
    this.waiting.push([requestId, event]);
    this.isUrgent = true;
  }

  /** Adds text of a choice, identified by its sequence. `isFirst` is true for the choice's first text. */
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

  /** Ends a step: sends what is due. */
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
