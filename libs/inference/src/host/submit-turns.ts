import type { HostCommand } from './host-protocol.js';

type SubmitCommand = Extract<HostCommand, { type: 'submit' }>;

/** How long the submits of one turn of the loop may take together, in ms; the first of a turn may take longer. */
const turnMs = 10;

/**
 * Hands requests to the engine in the order in which they came. A submit of a long prompt looks at all of its text: many at
 * once would keep the beats of the host, and the next tokens of everybody, waiting for all of them.
 */
export class SubmitTurns {
  private readonly waiting: { command: SubmitCommand; isCancelled: boolean }[] = [];
  private usedMs = 0;
  private isTurning = false;

  constructor(
    private readonly engine: { submit(command: SubmitCommand): void; cancel(id: string): void },
    /** Milliseconds of a clock that never goes back. */
    private readonly clock: () => number = () => performance.now(),
  ) {}

  submit(command: SubmitCommand): void {
    this.waiting.push({ command, isCancelled: false });
    this.work();
  }

  /** One that waits is cancelled as soon as the engine knows it. */
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
