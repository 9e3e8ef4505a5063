import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { copyFile, link, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Agent, request } from 'undici';
import { endProcess } from '#test/end-process';
import { type Contender, runLanes, type RunPlan, sharedNowMs } from './contender.js';
import { recordChatStream } from './event-stream.js';
import { residentBytesOfTree } from './resident-memory.js';
import type { StreamTiming } from './timing.js';
import type { BenchRequest } from './workload.js';

export interface PlatformOptions {
  modelId: string;
  /** Folder `models` of a home with the installed model; read-only. */
  modelsFolder: string;
  threads: number;
  slots?: number;
  port: number;
  /** Additional environment, e.g. `REDIS_URL`. */
  environment?: Record<string, string>;
}

/** Makes the installed model available under another home, with hard links if the file system supports them. */
async function linkFolder(source: string, target: string): Promise<void> {
  const entries = await readdir(source, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((each) => each.isFile())) {
    const from = join(entry.parentPath, entry.name);
    const to = join(target, from.slice(source.length));
    await mkdir(dirname(to), { recursive: true });
    await link(from, to).catch(() => copyFile(from, to));
  }
}

export interface LoopLag {
  apiMs: number;
  workerMs: number;
  hostMs: number;
}

/** Largest value of a gauge over its labels. */
function gauge(text: string, name: string): number {
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))].map((match) =>
    Number(match[1]),
  );
  return values.length === 0 ? Number.NaN : Math.max(...values);
}

/** The platform as run by `npm start`: HTTP, key, queue, model host, event stream. */
export class PlatformContender implements Contender {
  readonly name = 'sluice';
  private readonly agent = new Agent({ connections: 128, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });

  private constructor(
    private readonly child: ChildProcess,
    private readonly home: string,
    private readonly key: string,
    private readonly options: PlatformOptions,
  ) {}

  static async start(options: PlatformOptions): Promise<PlatformContender> {
    const home = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
    await linkFolder(join(options.modelsFolder, options.modelId), join(home, 'models', options.modelId));
    const key = `slk_${randomBytes(24).toString('hex')}`;
    const child = spawn(process.execPath, [resolve('dist/apps/local/src/main.js')], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        PORT: String(options.port),
        SLUICE_HOME: home,
        SLUICE_MODELS: options.modelId,
        SLUICE_BOOTSTRAP_INFERENCE_KEY: key,
        SLUICE_THREADS: String(options.threads),
        ...(options.slots === undefined ? {} : { SLUICE_SLOTS: String(options.slots) }),
        LOG_LEVEL: 'info',
        ...options.environment,
      },
    });
    const log = createWriteStream(join(home, 'platform.log'));
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    const self = new PlatformContender(child, home, key, options);
    try {
      await self.untilOnline();
      await self.raiseLimits();
      return self;
    } catch (error) {
      process.stderr.write(await readFile(join(home, 'platform.log'), 'utf8'));
      await self.close();
      throw error;
    }
  }

  async run({ requests, concurrency }: RunPlan): Promise<StreamTiming[]> {
    const startMs = sharedNowMs();
    return runLanes(requests, concurrency, (each) => this.stream(each, startMs));
  }

  async stream({ prompt, maxTokens }: BenchRequest, startMs: number): Promise<StreamTiming & { cachedTokens: number }> {
    const { statusCode, body } = await request(`${this.baseUrl}/chat/completions`, {
      method: 'POST',
      dispatcher: this.agent,
      headers: { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: this.options.modelId,
        messages: [{ role: 'user', content: prompt }],
        max_completion_tokens: maxTokens,
        temperature: 0,
        stream: true,
        stream_options: { include_usage: true },
      }),
    });
    if (statusCode !== 200) throw new Error(`HTTP ${statusCode}: ${await body.text()}`);
    return { startMs, ...(await recordChatStream(body as AsyncIterable<Uint8Array>, sharedNowMs)) };
  }

  /** Time to first token of a prompt that runs alone. */
  async firstToken(prompt: string): Promise<{ ms: number; cachedTokens: number }> {
    const startMs = sharedNowMs();
    const { pieceMs, cachedTokens } = await this.stream({ id: 'first', prompt, maxTokens: 2 }, startMs);
    return { ms: (pieceMs[0] ?? Number.NaN) - startMs, cachedTokens };
  }

  /** 99th percentile of each event loop delay since the last call, in ms; NaN if not reported. */
  async loopLag(): Promise<LoopLag> {
    const api = await this.scrape(this.options.port);
    const worker = await this.scrape(await this.workerPort());
    return {
      apiMs: gauge(api, 'nodejs_eventloop_lag_p99_seconds') * 1000,
      workerMs: gauge(worker, 'nodejs_eventloop_lag_p99_seconds') * 1000,
      hostMs: gauge(worker, 'sluice_host_loop_lag_seconds') * 1000,
    };
  }

  residentBytes(): Promise<number> {
    return residentBytesOfTree(this.child.pid ?? 0);
  }

  async close(): Promise<void> {
    await this.agent.close();
    await endProcess(this.child, 'SIGTERM');
    await rm(this.home, { recursive: true, force: true });
  }

  /** The worker takes a free port and logs it. */
  private async workerPort(): Promise<number> {
    const log = await readFile(join(this.home, 'platform.log'), 'utf8');
    return Number(/worker .* metrics on port (\d+)/.exec(log)?.[1] ?? 0);
  }

  private async scrape(port: number): Promise<string> {
    const answer = await request(`http://127.0.0.1:${port}/metrics`, { dispatcher: this.agent }).catch(() => null);
    return answer === null ? '' : answer.body.text();
  }

  private get baseUrl(): string {
    return `http://127.0.0.1:${this.options.port}/api/v1`;
  }

  private async untilOnline(): Promise<void> {
    const deadline = sharedNowMs() + 180_000;
    while (!(await this.isOnline().catch(() => false))) {
      if (this.child.exitCode !== null) throw new Error(`the platform ended with ${this.child.exitCode}`);
      if (sharedNowMs() > deadline) throw new Error(`${this.options.modelId} did not come online`);
      await sleep(250);
    }
  }

  /** Rate limits stay enabled as part of the overhead, but are never reached. Replicas reload them every 5 s. */
  private async raiseLimits(): Promise<void> {
    const max = ['--rpm', '1000000', '--tpm', '1000000000'];
    const env = { ...process.env, SLUICE_HOME: this.home };
    await promisify(execFile)(process.execPath, [resolve('bin/sluice.mjs'), 'limits', 'set', ...max], { env });
    await sleep(5_500);
  }

  private async isOnline(): Promise<boolean> {
    const { statusCode, body } = await request(`${this.baseUrl}/models`, {
      dispatcher: this.agent,
      headers: { authorization: `Bearer ${this.key}` },
    });
    const { data } = (await body.json()) as { data: { id: string; model_spec?: { offline?: boolean } }[] };
    return (
      statusCode === 200 &&
      data.some(({ id, model_spec: spec }) => id === this.options.modelId && spec?.offline !== true)
    );
  }
}
