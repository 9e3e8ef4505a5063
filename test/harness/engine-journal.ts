import { appendFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Record of one request by a deterministic engine; times are ms since the epoch. */
export interface EngineRun {
  requestId: string;
  /** Pid of the engine, and the worker whose host it is. */
  hostPid: number;
  workerPid: number;
  beganAtMs: number;
  /** When the engine was told to stop; null if never. */
  cancelledAtMs: number | null;
  /** Null when the process was killed before the end. */
  endedAtMs: number | null;
  lastTokenAtMs: number | null;
  /** Generated tokens, if the end was reached. */
  tokens: number;
}

interface Entry {
  event: 'begin' | 'cancel' | 'end';
  /**
   * Run id: the request's id (plus a dot or dash and a number if the job has several tasks), and the run number of that
   * worker.
   */
  run: string;
  /** Pid, since two workers may give runs the same id. */
  pid: number;
  workerPid: number;
  atMs: number;
  tokens?: number;
  lastTokenAtMs?: number | null;
}

interface JournaledEvent {
  type: string;
  tokens?: number;
}

type Sink<Event> = (events: [id: string, event: Event][]) => void;

/** Engine side: appends one line per event synchronously, so that a killed process has recorded everything. */
export class EngineJournalWriter {
  private readonly running = new Map<string, { tokens: number; lastTokenAtMs: number | null }>();

  constructor(private readonly path: string) {}

  /** Records the commands that an engine receives. */
  attach<Engine extends { submit(request: { id: string }): void; cancel(id: string): void }>(engine: Engine): Engine {
    const { submit, cancel } = engine;
    engine.submit = (request) => {
      this.running.set(request.id, { tokens: 0, lastTokenAtMs: null });
      this.write('begin', request.id);
      submit.call(engine, request);
    };
    engine.cancel = (id) => {
      if (this.running.has(id)) this.write('cancel', id);
      cancel.call(engine, id);
    };
    return engine;
  }

  /** Sink of the engine that records events and passes them on. */
  watch<Event extends JournaledEvent>(sink: Sink<Event>): Sink<Event> {
    return (events) => {
      for (const [run, event] of events) this.note(run, event);
      sink(events);
    };
  }

  private note(run: string, { type, tokens = 0 }: JournaledEvent): void {
    const state = this.running.get(run);
    if (state === undefined) return;
    if (type === 'text-delta') {
      state.tokens += tokens;
      state.lastTokenAtMs = Date.now();
    }
    if (type !== 'finished' && type !== 'task-finished' && type !== 'failed') return;
    this.running.delete(run);
    this.write('end', run, state);
  }

  private write(event: Entry['event'], run: string, state: Partial<Entry> = {}): void {
    const entry: Entry = { event, run, pid: process.pid, workerPid: process.ppid, atMs: Date.now(), ...state };
    appendFileSync(this.path, `${JSON.stringify(entry)}\n`);
  }
}

/** Test side: reads what was really generated, independently of the platform. */
export class EngineJournal {
  private folder = '';

  get path(): string {
    return join(this.folder, 'journal.jsonl');
  }

  async open(): Promise<void> {
    this.folder = await mkdtemp(join(tmpdir(), 'sluice-journal-'));
    await writeFile(this.path, '');
  }

  async remove(): Promise<void> {
    if (this.folder !== '') await rm(this.folder, { recursive: true, force: true });
  }

  /** Every run of every request so far, in the order they began. */
  async runs(): Promise<EngineRun[]> {
    const runs = new Map<string, EngineRun>();
    const lines = (await readFile(this.path, 'utf8')).split('\n').filter((line) => line !== '');
    for (const line of lines) {
      const { event, run: name, pid, workerPid, atMs, tokens = 0, lastTokenAtMs = null } = JSON.parse(line) as Entry;
      const key = `${pid}/${name}`;
      const fresh = { cancelledAtMs: null, endedAtMs: null, lastTokenAtMs: null, tokens: 0 };
      if (event === 'begin')
        runs.set(key, { requestId: name.replace(/#.*$/, ''), hostPid: pid, workerPid, beganAtMs: atMs, ...fresh });
      const run = runs.get(key);
      if (run === undefined) continue;
      if (event === 'cancel') run.cancelledAtMs ??= atMs;
      if (event === 'end') Object.assign(run, { endedAtMs: atMs, tokens, lastTokenAtMs });
    }
    return [...runs.values()].toSorted((left, right) => left.beganAtMs - right.beganAtMs);
  }

  async runsOf(requestId: string): Promise<EngineRun[]> {
    return (await this.runs()).filter((run) => run.requestId === requestId);
  }
}
