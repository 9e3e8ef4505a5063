import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { childEnvironment } from '#platform/config';
import { createTransport, type ReplyEvent, type QueueTransport } from '#queue';
import { createTestDatabase, type TestDatabase } from '#test/postgres';
import { askChat, type QueuedChat } from '#test/queued-chat';
import { runSourceArguments, sourcePath } from '#test/source-program';
import { installTinyModel } from '#test/tiny-models';

interface LogLine {
  msg: string;
  pid?: number;
  port?: number;
  provider?: string;
  slots?: number;
  loadMs?: number;
  reason?: string;
}

/** The worker as a separate process, run from the sources, with its log lines. */
class WorkerProcess {
  readonly lines: LogLine[] = [];
  private readonly waiting = new Set<() => void>();

  constructor(readonly child: ChildProcess) {
    if (child.stdout === null) throw new Error('the worker has no stdout');
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (!line.startsWith('{')) return;
      this.lines.push(JSON.parse(line) as LogLine);
      for (const look of this.waiting) look();
    });
  }

  line(pattern: RegExp): Promise<LogLine> {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.lines.find(({ msg }) => pattern.test(msg));
        if (found === undefined) return;
        this.waiting.delete(look);
        resolve(found);
      };
      this.waiting.add(look);
      look();
    });
  }

  async stop(signal: NodeJS.Signals): Promise<number | null> {
    const exited = once(this.child, 'exit') as Promise<[number | null]>;
    this.child.kill(signal);
    const [code] = await exited;
    return code;
  }
}

describe('the worker process with a real model', () => {
  let database: TestDatabase;
  let home: string;
  let api: QueueTransport;
  let worker: WorkerProcess;

  beforeAll(async () => {
    database = await createTestDatabase();
    home = await mkdtemp(join(tmpdir(), 'sluice worker '));
    await installTinyModel(home, { id: 'tiny' });
    api = await createTransport({ url: database.url, namespace: 'sluice', clientName: 'api' });
    await api.replies.start();
    worker = startWorker({});
    await worker.line(/^tiny runs on cpu/);
  });

  function startWorker(more: Record<string, string>): WorkerProcess {
    const env = childEnvironment({
      SLUICE_HOME: home,
      SLUICE_MODELS: 'tiny',
      SLUICE_QUEUE_URL: database.url,
      SLUICE_WORKER_PORT: '0',
      SLUICE_PROVIDERS: 'cpu',
      SLUICE_THREADS: '1',
      SLUICE_DRAIN_MS: '5000',
      LOG_LEVEL: 'info',
      DATABASE_URL: null,
      REDIS_URL: null,
      ...more,
    });
    const main = sourcePath('apps/worker/src/main.ts');
    return new WorkerProcess(
      spawn(process.execPath, [...runSourceArguments, main], { env, stdio: ['ignore', 'pipe', 'inherit'] }),
    );
  }

  afterAll(async () => {
    if (worker.child.exitCode === null) await worker.stop('SIGKILL');
    await api.close();
    await database.drop();
    await rm(home, { recursive: true, force: true });
  });

  async function health(path: string, of = worker): Promise<Response> {
    const { port } = await of.line(/serves health/);
    return fetch(`http://127.0.0.1:${port}${path}`);
  }

  async function ask(requestId: string, overrides: Partial<QueuedChat> = {}): Promise<ReplyEvent[]> {
    const plain = { requestId, modelId: 'tiny', content: 'The river', sampling: { temperature: 0 }, maxTokens: 12 };
    const slot = await askChat(api, { ...plain, ...overrides });
    const events: ReplyEvent[] = [];
    for await (const event of slot) {
      events.push(event);
      if (event.type === 'job-finished' || event.type === 'job-failed') break;
    }
    slot.close();
    return events;
  }

  const textOf = (events: ReplyEvent[]) => events.map((event) => ('text' in event ? event.text : '')).join('');

  it('logs the provider, the number of slots and the load time of the model', async () => {
    const line = await worker.line(/^tiny runs on cpu, 8 slots, loaded in \d+ ms/);
    expect(line).toMatchObject({ provider: 'cpu', slots: 8 });
    expect(line.loadMs).toBeGreaterThan(0);
  });

  it('responds to a chat job with real text, the same each time', async () => {
    const events = await ask('one');
    expect(events.at(-1)).toMatchObject({ type: 'job-finished', usage: { completionTokens: 12 } });
    expect(textOf(events)).not.toBe('');
    expect(textOf(await ask('two'))).toBe(textOf(events));
  });

  it('responds to concurrent jobs as it does to single ones', async () => {
    const alone = textOf(await ask('alone'));
    const together = await Promise.all(Array.from({ length: 12 }, (_, index) => ask(`side-${index}`)));
    expect(together.map(textOf)).toEqual(together.map(() => alone));
  });

  it('returns log-probabilities on request', async () => {
    const events = await ask('scored', { topLogprobs: 2 });
    const scored = events.flatMap((event) => ('logprobs' in event ? (event.logprobs as { logprob: number }[]) : []));
    expect(scored).toHaveLength(12);
    for (const { logprob } of scored) expect(logprob).toBeLessThanOrEqual(0);
  });

  it('fails a prompt that is too long with the documented code', async () => {
    const events = await ask('long', { content: 'river '.repeat(300) });
    expect(events.at(-1)).toMatchObject({ type: 'job-failed', error: { code: 'TOO_MANY_TOKENS', param: 'messages' } });
  });

  it('never falls back to a provider that is not listed: it is not ready and says why', async () => {
    const other = startWorker({ SLUICE_PROVIDERS: 'cuda' });
    try {
      const { reason } = await other.line(/model host ended/);
      expect(reason).toMatch(/load failed: .*cuda skipped: .*; cpu is not among the providers/);
      const response = await health('/health/ready', other);
      const body = (await response.json()) as { checks: object; reasons: { models: string } };
      expect([response.status, body.checks]).toEqual([503, { queue: 'ok', storage: 'ok', models: 'unavailable' }]);
      expect(body.reasons.models).toMatch(/^tiny is not loaded: load failed: .*cpu is not among the providers/);
      expect((await health('/health/live', other)).status).toBe(200);
      const metrics = await (await health('/metrics', other)).text();
      expect(metrics).toMatch(/sluice_models_without_replica\{cause="failed",app="worker"[^}]*\} 1/);
      expect(metrics).not.toContain('sluice_host_provider_fallback{');
    } finally {
      await other.stop('SIGTERM');
    }
  });

  it('is ready while the queue responds and its model was loaded once, and exports engine metrics', async () => {
    expect((await health('/health/live')).status).toBe(200);
    const ready = await health('/health/ready');
    expect([ready.status, await ready.json()]).toEqual([
      200,
      { status: 'ok', checks: { queue: 'ok', storage: 'ok', models: 'ok' } },
    ]);
    const text = await (await health('/metrics')).text();
    expect(text).toMatch(/sluice_engine_slots\{model="tiny",provider="cpu",app="worker"[^}]*\} 8/);
    expect(text).toMatch(/sluice_host_ready\{model="tiny",app="worker"[^}]*\} 1/);
  });

  it('continues after its host was killed', async () => {
    const { pid } = await worker.line(/^tiny runs on cpu/);
    process.kill(pid ?? 0, 'SIGKILL');
    await worker.line(/model host ended; restarting it/);
    // A restart of a host is no reason to replace the worker.
    expect((await health('/health/ready')).status).toBe(200);
    expect((await ask('after')).at(-1)).toMatchObject({ type: 'job-finished' });
  });

  it('exits with 0 on SIGTERM and leaves no host behind', async () => {
    const hosts = worker.lines.flatMap(({ msg, pid }) =>
      msg.startsWith('tiny runs on') && pid !== undefined ? [pid] : [],
    );
    expect(await worker.stop('SIGTERM')).toBe(0);
    expect(hosts.length).toBeGreaterThan(0);
    for (const pid of hosts) expect(() => process.kill(pid, 0)).toThrow();
  });
});
