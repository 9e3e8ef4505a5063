import type { PlatformError } from '#common';
import type { ReplyEvent, ReplyStream } from '#queue';

/** Events of one request; only those of the later delivery once one has begun. */
export class SimSlot implements ReplyStream {
  private readonly events: ReplyEvent[] = [];
  private failure: PlatformError | null = null;
  private isClosed = false;
  private isComplete = false;
  private writer: object | null = null;
  private readonly stale = new Set<object>();
  private wake: () => void = () => undefined;

  accept(writer: object, isFirst: boolean, events: readonly ReplyEvent[]): void {
    if (this.isComplete || this.stale.has(writer)) return;
    if (this.writer !== writer) {
      if (!isFirst) return;
      if (this.writer !== null) this.stale.add(this.writer);
      this.writer = writer;
    }
    for (const event of events) {
      if (this.isComplete) break;
      this.events.push(event);
      this.isComplete = event.type === 'job-finished' || event.type === 'job-failed';
    }
    this.wake();
  }

  close(): void {
    this.isClosed = true;
    this.wake();
  }

  fail(error: PlatformError): void {
    if (!this.isComplete) this.failure ??= error;
    this.wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ReplyEvent, undefined> {
    for (;;) {
      if (this.isClosed) return undefined;
      const event = this.events.shift();
      if (event !== undefined) yield event;
      else if (this.failure !== null) throw this.failure;
      else if (this.isComplete) return undefined;
      else await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }
}
