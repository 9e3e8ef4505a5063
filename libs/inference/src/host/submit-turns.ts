import type { HostCommand } from './host-protocol.js';

type SubmitCommand = Extract<HostCommand, { type: 'submit' }>;

/** Maximum total time of the submits in one event-loop turn, in ms; the first may exceed it. */
const turnMs = 10;

/**
 * Submits requests to the engine in order of arrival. The submit of a long prompt processes all of its text. Many at
 * once would delay heartbeats and the next tokens of all other requests.
 */
export class SubmitTurns {
  private readonly waiting: { command: SubmitCommand; isCancelled: boolean }[] = [];
  private usedMs = 0;
  private isTurning = false;

  constructor(
    private readonly engine: { submit(command: SubmitCommand): void; cancel(id: string): void },
    /** Monotonic clock in milliseconds. */
    private readonly clock: () => number = () => performance.now(),
  ) {}

  submit(command: SubmitCommand): void {
    this.waiting.push({ command, isCancelled: false });
    this.work();
  }

  /** Cancels a waiting request as soon as the engine has it. */
  cancel(id: string): void {
    const waiting = this.waiting.find(({ command }) => command.request.id === id);
    if (waiting === undefined) this.engine.cancel(id);
    else waiting.isCancelled = true;
  }

  private work(): void {
    while (this.usedMs < turnMs) {
      const next = this.waiting.shift();
      if (next === undefined) break;
      const startedAt = this.clock();
      this.engine.submit(next.command);
      if (next.isCancelled) this.engine.cancel(next.command.request.id);
      this.usedMs += this.clock() - startedAt;
    }
    if (this.isTurning) return;
    this.isTurning = true;
    setImmediate(() => {
      this.isTurning = false;
      this.usedMs = 0;
      if (this.waiting.length > 0) this.work();
    });
  }
}
