import type { Clock } from '#common';
import type { Choices } from './choices.js';
import type { RunningStatement } from './sim-session.js';

/** Results of a step besides completion. */
export type StepFault = 'none' | 'lost-before' | 'lost-after';

export interface StepOptions<Result> {
  /** Description for the trace. */
  label: string;
  /** Runs the step: synchronously, or as a statement that may wait for locks. */
  start: () => Result | RunningStatement<Result>;
  /** False for a step that cannot be lost in transit: work inside of a process. */
  mayBeLost?: boolean;
  /** Called when the connection is lost at this step. */
  onLost?: () => Promise<void>;
}

interface Step {
  id: number;
  process: SimProcess;
  sinceMs: number;
  options: StepOptions<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface InFlight {
  step: Step;
  flight: RunningStatement<unknown>;
  fault: StepFault;
}

/** A process of the platform: it can freeze, and it can die at every step. */
export class SimProcess {
  isDead = false;
  isFrozen = false;
  /** Virtual time of its last heartbeat seen by the others. */
  lastHeartbeatAtMs: number;
  private readonly endings: (() => Promise<void> | void)[] = [];

  constructor(
    readonly name: string,
    readonly role: 'api' | 'worker' | 'ops' | 'operator',
    nowMs: number,
  ) {
    this.lastHeartbeatAtMs = nowMs;
  }

  get runs(): boolean {
    return !this.isDead && !this.isFrozen;
  }

  /** Resources released when the process dies: connections, and state in its memory. */
  onDeath(ending: () => Promise<void> | void): void {
    this.endings.push(ending);
  }

  async die(): Promise<void> {
    this.isDead = true;
    for (const ending of this.endings.splice(0)) await ending();
  }
}

export class ProcessDied extends Error {}

/**
 * The scheduler. Production code runs unchanged; every interaction with the outside (a statement, a queue operation)
 * becomes a step that waits here until it is chosen. Between two choices no time passes, and every process has reached
 * its next step, waits for a lock, or is idle.
 */
export class World implements Clock {
  readonly trace: string[] = [];
  /** Detected violations. */
  readonly problems: string[] = [];
  /** True once a transaction was committed whose process received an error. */
  hadAmbiguousCommit = false;
  private steps: Step[] = [];
  private inFlight: InFlight[] = [];
  private sleepers: { process: SimProcess; untilMs: number; wake: () => void }[] = [];
  private nextId = 1;

  constructor(
    readonly choices: Choices,
    private virtualMs: number,
    /** Resolves when every statement is done or waits for a lock. */
    private readonly quiesce: (runningStatements: RunningStatement<unknown>[]) => Promise<void>,
  ) {}

  nowMs(): number {
    return this.virtualMs;
  }

  monotonicMs(): number {
    return this.virtualMs;
  }

  passTime(milliseconds: number): void {
    this.virtualMs += milliseconds;
    const due = this.sleepers.filter(({ untilMs }) => untilMs <= this.virtualMs);
    this.sleepers = this.sleepers.filter(({ untilMs }) => untilMs > this.virtualMs);
    for (const { process, wake } of due) if (!process.isDead) wake();
  }

  /** Resolves after so much virtual time; never for a process that dies meanwhile. */
  sleep(process: SimProcess, milliseconds: number): Promise<void> {
    return new Promise((wake) => this.sleepers.push({ process, untilMs: this.virtualMs + milliseconds, wake }));
  }

  note(text: string): void {
    this.trace.push(text);
  }

  problem(text: string): void {
    this.problems.push(text);
    this.note(`PROBLEM ${text}`);
  }

  /** Waits until the step is chosen and done. Rejects when the process dies first. */
  step<Result>(process: SimProcess, options: StepOptions<Result>): Promise<Result> {
    if (process.isDead) return Promise.reject(new ProcessDied());
    return new Promise<Result>((resolve, reject) => {
      const step = { id: this.nextId++, process, sinceMs: this.virtualMs, options: options as StepOptions<unknown> };
      this.steps.push({ ...step, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  /** Steps that can be chosen, the oldest first. */
  get ready(): readonly { id: number; sinceMs: number }[] {
    return this.steps.filter(({ process }) => process.runs);
  }

  get isIdle(): boolean {
    return this.steps.length === 0 && this.inFlight.length === 0;
  }

  async perform(id: number, fault: StepFault = 'none'): Promise<void> {
    const step = this.take(id);
    const { options, process } = step;
    const how = options.mayBeLost === false ? 'none' : fault;
    this.note(`${process.name}: ${options.label}${how === 'none' ? '' : ` (${how})`}`);
    if (how === 'lost-before') {
      await options.onLost?.();
      step.reject(new Error('the connection was lost'));
    } else {
      try {
        const started = options.start();
        if (isFlight(started)) this.inFlight.push({ step, flight: started, fault: how });
        else step.resolve(started);
      } catch (error) {
        step.reject(error);
      }
    }
    await this.settle();
  }

  /** Lets released code continue: completed statements, and the code behind them. */
  async settle(): Promise<void> {
    await turns();
    for (let changed = true; changed && this.inFlight.length > 0;) {
      await this.quiesce(this.inFlight.map(({ flight }) => flight));
      const landed = this.inFlight.filter(({ flight }) => flight.hasCompleted);
      this.inFlight = this.inFlight.filter(({ flight }) => !flight.hasCompleted);
      changed = false;
      for (const each of landed.toSorted((left, right) => left.step.id - right.step.id)) {
        changed = (await this.land(each)) || changed;
      }
    }
  }

  /** Kills a process now: its steps are never run, and results of running statements are dropped. */
  async kill(process: SimProcess): Promise<void> {
    const mine = this.steps.filter((step) => step.process === process);
    this.steps = this.steps.filter((step) => step.process !== process);
    await process.die();
    for (const step of mine) step.reject(new ProcessDied());
    // The server completes the statement, and its result is dropped.
    for (const { step } of this.inFlight) if (step.process === process) step.reject(new ProcessDied());
    await this.settle();
  }

  private take(id: number): Step {
    const place = this.steps.findIndex((step) => step.id === id);
    const [step] = place === -1 ? [] : this.steps.splice(place, 1);
    if (step === undefined) throw new Error(`there is no step ${id}`);
    return step;
  }

  /** Resolves to true if it released locks on the way. */
  private async land({ step, flight, fault }: InFlight): Promise<boolean> {
    const isLost = fault === 'lost-after' || step.process.isDead;
    if (isLost) {
      await step.options.onLost?.();
      step.reject(new Error('the connection was lost'));
    } else if (flight.error !== null) step.reject(flight.error);
    else step.resolve(flight.result);
    await turns();
    return isLost;
  }
}

function isFlight(value: unknown): value is RunningStatement<unknown> {
  return typeof value === 'object' && value !== null && 'hasCompleted' in value;
}

/** Enough turns for all code that waits for nothing; a group commit waits for one turn. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
