import { PlatformError, Histogram } from '#common';
import { asRunFailure } from '../engines/device-failure.js';
import type { EngineSink } from '../contract/engine.js';
import { type EngineStats, stepBounds } from '../contract/engine-stats.js';
import type { TaskEngine, TaskEvent, TaskRequest } from '../contract/task.js';
import { type BatchLimits, type BatchRow, LengthBatcher } from './length-batcher.js';
import type { RowRequest } from './row-request.js';

/** A row and what the model computed for it. */
export interface ComputedRow<Row> {
  row: Row;
  values: Float32Array;
}

export interface RowEngineOptions<Row extends BatchRow, Request extends RowRequest<Row>> {
  /** Name of the only task. */
  task: string;
  open: (id: string, input: object) => Request;
  /** Returns the values of each row, in one run of the model. */
  encode: (rows: readonly Row[]) => Promise<Float32Array[]>;
  /** Builds a part of the result. Throws `INFERENCE_FAILED` for values that are no result. */
  present: (request: Request, computed: readonly ComputedRow<Row>[]) => object;
  batch: BatchLimits;
  /** Number of requests that the worker submits concurrently. */
  slots: number;
  sink: EngineSink;
  /** Releases the session. */
  onClose?: () => Promise<void>;
}

/** Time spent tokenizing between two runs, in ms: while a batch waits, and while none does. */
const readingMs = { busy: 5, idle: 20 };

/**
 * Runs the texts of all queued requests together. A request is fully tokenized before its first row runs, so a text that
 * is too long costs nothing. Its rows then join rows of similar length from other requests, and their results are sent
 * as parts. Between two runs the engine yields to the event loop so that requests can be added and cancelled.
 */
export class RowEngine<Row extends BatchRow, Request extends RowRequest<Row>> implements TaskEngine {
  private readonly requests = new Map<string, Request>();
  private readonly reading: Request[] = [];
  private readonly batcher: LengthBatcher<Row>;
  private isWorking = false;
  private idle: Promise<void> = Promise.resolve();
  private isClosed = false;
  private steps = 0;
  private runMs = 0;
  private readonly stepSeconds = new Histogram(stepBounds);

  constructor(private readonly options: RowEngineOptions<Row, Request>) {
    this.batcher = new LengthBatcher(options.batch);
  }

  submit({ id, task, input }: TaskRequest): void {
    if (this.isClosed) return this.send(id, failed(unloaded()));
    if (task !== this.options.task) {
      return this.send(id, failed(new PlatformError('INVALID_MODEL', `This model does not support the task ${task}.`)));
    }
    const request = this.options.open(id, input);
    this.requests.set(id, request);
    this.reading.push(request);
    if (!this.isWorking) this.idle = this.work();
  }

  cancel(id: string): void {
    const request = this.requests.get(id);
    if (request === undefined) return;
    this.drop(request);
    // The running batch is finished and counted before the task ends.
    if (request.inBatch === 0) this.send(id, finished(request, true));
    else request.isCancelled = true;
  }

  stats(): EngineStats {
    const { slots } = this.options;
    return {
      slots,
      running: this.requests.size,
      waiting: this.batcher.size,
      stepsTotal: this.steps,
      runMsTotal: this.runMs,
      stepSeconds: this.stepSeconds.read(),
    };
  }

  /** Fails queued requests; resolves when the session is released. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const request of this.requests.values()) this.fail(request, unloaded());
    await this.idle;
    await this.options.onClose?.();
  }

  private async work(): Promise<void> {
    this.isWorking = true;
    while (this.reading.length > 0 || this.batcher.size > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      this.read(this.batcher.size > 0 ? readingMs.busy : readingMs.idle);
      const rows = this.batcher.next();
      if (rows.length > 0) await this.run(rows);
    }
    // Runs in the same turn as the check above, so a later submit starts a new loop.
    this.isWorking = false;
  }

  /** Tokenizes queued requests in turn until the time is used up. */
  private read(milliseconds: number): void {
    const until = performance.now() + milliseconds;
    for (let request = this.reading.shift(); request !== undefined; request = this.reading.shift()) {
      this.readSome(request);
      if (performance.now() > until) return;
    }
  }

  private readSome(request: Request): void {
    try {
      request.readSome();
    } catch (error) {
      return this.fail(request, error);
    }
    if (request.isRead) this.batcher.add(request.id, request.rows);
    else this.reading.push(request);
  }

  private async run(rows: Row[]): Promise<void> {
    const owners = this.ownersOf(rows);
    for (const { request, ownedRows } of owners) request.inBatch = ownedRows.length;
    const startedAt = performance.now();
    try {
      const values = await this.options.encode(rows);
      this.count(startedAt);
      const byRow = new Map(rows.map((row, index) => [row, values[index] ?? new Float32Array()]));
      for (const { request, ownedRows } of owners) {
        this.deliver(
          request,
          ownedRows.map((row) => ({ row, values: byRow.get(row) ?? new Float32Array() })),
        );
      }
    } catch (error) {
      this.count(startedAt);
      for (const { request } of owners) this.fail(request, asRunFailure(error));
    }
  }

  private ownersOf(rows: readonly Row[]): { request: Request; ownedRows: Row[] }[] {
    const ids = [...new Set(rows.map(({ owner }) => owner))];
    return ids.flatMap((id) => {
      const request = this.requests.get(id);
      return request === undefined ? [] : [{ request, ownedRows: rows.filter(({ owner }) => owner === id) }];
    });
  }

  private deliver(request: Request, computed: readonly ComputedRow<Row>[]): void {
    request.inBatch = 0;
    if (this.isClosed) return;
    request.countComputed(computed.map(({ row }) => row));
    if (request.isCancelled) return this.send(request.id, finished(request, true));
    let part: object;
    try {
      part = this.options.present(request, computed);
    } catch (error) {
      return this.fail(request, error);
    }
    this.send(request.id, { type: 'task-part', part });
    if (!request.isComputed) return;
    this.drop(request);
    this.send(request.id, finished(request, false));
  }

  private count(startedAt: number): void {
    const ms = performance.now() - startedAt;
    this.steps++;
    this.runMs += ms;
    this.stepSeconds.add(ms / 1_000);
  }

  private fail(request: Request, error: unknown): void {
    const isOpen = this.requests.has(request.id) || request.isCancelled;
    this.drop(request);
    request.isCancelled = false;
    if (isOpen) this.send(request.id, failed(PlatformError.from(error, 'INFERENCE_FAILED')));
  }

  private drop(request: Request): void {
    this.requests.delete(request.id);
    this.batcher.remove(request.id);
    const position = this.reading.indexOf(request);
    if (position >= 0) this.reading.splice(position, 1);
  }

  private send(id: string, event: TaskEvent): void {
    this.options.sink([[id, event]]);
  }
}

function finished({ computedTokens }: { computedTokens: number }, cancelled: boolean): TaskEvent {
  return { type: 'task-finished', cancelled, output: { tokens: computedTokens } };
}

function failed(error: PlatformError): TaskEvent {
  return { type: 'failed', error: error.toWire(), usage: null };
}

function unloaded(): PlatformError {
  return new PlatformError('MODEL_OFFLINE', 'The model was unloaded.');
}
