import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import { expect, it } from 'vitest';
import type { Platform } from '#test/platform';
import { seededRandom } from '#test/seeded-random';
import { ChatStreamReader, contentOf } from './chat-caller.js';
import { worstWaits } from './fair-share.js';
import { amount, describeFault, eventually, pause } from './fault-scene.js';
import { redisCommand } from './redis-command.js';

/*
 * F15: far more jobs than two workers can run, for five models at once and most of them for one. All of them wait in
 * the queue before the first one runs: until then, every slot is in use.
 */

const jobs = amount({ full: 10_000, quick: 400 });
const enteringAtOnce = amount({ full: 32, quick: 16 });
const workers = 2;
const slots = 4;
/** Jobs that a worker takes from one queue: its slots, plus one (`ServedModel`). */
const jobsPerModel = slots + 1;

/** The classes of text models, and a second model of the smallest class: models of one class must share fairly, too. */
const tiers = [
  { id: 'tier-xs', tier: 'XS', share: 0.4 },
  { id: 'tier-s', tier: 'S', share: 0.25 },
  { id: 'tier-m', tier: 'M', share: 0.18 },
  { id: 'tier-l', tier: 'L', share: 0.12 },
  { id: 'tier-xs-2', tier: 'XS', share: 0.05 },
] as const;
const sizes = new Map(tiers.map(({ id, share }) => [id as string, Math.round(jobs * share)]));
const lanes = workers * tiers.length * jobsPerModel;

/** Maximum factor by which a job may exceed its fair turn. */
const maxRatio = 1.5;
const maxApiBytes = 512 * 1024 * 1024;

/** Model of each job: mixed, in the same order every time. */
function arrivals(): string[] {
  const random = seededRandom(15);
  const all = [...sizes].flatMap(([id, count]) => Array.from({ length: count }, () => id));
  return all
    .map((id) => ({ id, rank: random() }))
    .toSorted((left, right) => left.rank - right.rank)
    .map(({ id }) => id);
}

async function memoryOfApi(platform: Platform, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${platform.pid('api')}/status`, 'utf8');
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status) ?? [];
  return Number(kilobytes) * 1_024;
}

async function memoryOfRedis({ redis }: Platform): Promise<number> {
  const script = "return tonumber(redis.call('info', 'memory'):match('used_memory:(%d+)'))";
  return Number((await redisCommand(redis, 'EVAL', script, '0')).slice(1));
}

async function countRows(platform: Platform, where = 'true'): Promise<number> {
  const [row] = await platform.query<{ count: number }>(`SELECT count(*)::int AS count FROM jobs WHERE ${where}`);
  return row?.count ?? 0;
}

/** Concurrent waiting clients, each on its own connection. */
class WaitingClients {
  private readonly agent = new Agent({ pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  readonly answers: Promise<number>[] = [];

  constructor(private readonly platform: Platform) {}

  /** Sends them as fast as the API admits them; resolves to the rate per second. */
  async enter(models: readonly string[], rowsBefore: number): Promise<number> {
    const startedAtMs = performance.now();
    for (;;) {
      const entered = (await countRows(this.platform)) - rowsBefore;
      while (this.answers.length < Math.min(models.length, entered + enteringAtOnce)) {
        this.answers.push(this.ask(models[this.answers.length] ?? ''));
      }
      if (entered >= models.length) return (models.length * 1_000) / (performance.now() - startedAtMs);
      await pause(10);
    }
  }

  async leave(): Promise<void> {
    await this.agent.destroy();
  }

  /** Status of the response. */
  private async ask(model: string): Promise<number> {
    const content = contentOf({ text: `Waiting ${this.answers.length}`, directives: 'tokens=2 delay=75' });
    const { statusCode, body } = await request(`${this.platform.baseUrl}/chat/completions`, {
      method: 'POST',
      dispatcher: this.agent,
      headers: { authorization: `Bearer ${this.platform.inferenceKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content }], max_completion_tokens: 4 }),
    });
    await body.dump();
    return statusCode;
  }
}

/** Occupies every slot of the workers; resolves to a function that releases them. */
async function occupyAllSlots(platform: Platform): Promise<() => void> {
  const requests = tiers.flatMap(({ id }) => Array.from({ length: workers * jobsPerModel }, () => id));
  const readers = await Promise.all(
    requests.map((model, index) =>
      ChatStreamReader.open(platform, { model, text: `Plug ${index}`, directives: 'tokens=200 delay=5000' }),
    ),
  );
  await eventually('every slot is in use', async () => (await platform.journal.runs()).length === lanes);
  return () => {
    for (const reader of readers) reader.leave();
  };
}

function report(line: string): void {
  process.stdout.write(`${line}\n`);
}

describeFault(
  'F15',
  {
    models: tiers.map(({ id, tier }) => ({ id, manifest: { tier } })),
    replicas: { worker: workers },
    env: { SLUICE_SLOTS: String(slots), SLUICE_QUEUE_LIMIT: '20000', SLUICE_CHAT_DEADLINE_MS: '1800000' },
  },
  (running) => {
    it(`${jobs} waiting jobs for five models on two workers all finish, and each model has its turn`, async () => {
      const platform = running();
      const waitingClients = new WaitingClients(platform);
      await eventually('both workers serve every model', async () => {
        const text = await (await fetch(`${platform.origin}/metrics`)).text();
        return tiers.every(({ id }) =>
          new RegExp(`^sluice_model_workers\\{model="${id}",state="ready".*\\} ${workers}$`, 'm').test(text),
        );
      });
      const refund = await occupyAllSlots(platform);
      const ofEmptyQueue = await memoryOfRedis(platform);
      const perSecond = await waitingClients.enter(arrivals(), lanes);
      expect(await countRows(platform, "state = 'queued'")).toBeGreaterThanOrEqual(jobs);
      const crowded = await memoryOfApi(platform, 'VmRSS');
      const ofQueue = await memoryOfRedis(platform);
      const openedAtMs = Date.now();
      refund();
      const statuses = await Promise.all(waitingClients.answers);
      const drainedMs = Date.now() - openedAtMs;
      await waitingClients.leave();
      await platform.closedJobs(60_000);

      expect(statuses.filter((status) => status !== 200)).toEqual([]);
      expect(await countRows(platform, "state = 'succeeded'")).toBe(jobs);
      expect(await countRows(platform)).toBe(jobs + lanes);
      const rows = await platform.query<{ request_id: string; model_id: string }>(
        "SELECT request_id, model_id FROM jobs WHERE state = 'succeeded' ORDER BY created_at, request_id",
      );
      const modelOf = new Map(rows.map((row) => [row.request_id, row.model_id]));
      const waiting = (requestId: string) => ({ requestId, tier: modelOf.get(requestId) ?? '' });
      const runs = (await platform.journal.runs()).filter(({ requestId }) => modelOf.has(requestId));
      // Each ran once.
      expect(runs.length).toBe(jobs);
      const entered = rows.map((row) => waiting(row.request_id));
      const begun = runs.map(({ requestId }) => waiting(requestId));
      const waits = worstWaits({ sizes, entered, begun, enteringAtOnce, lanes });
      const largest = await memoryOfApi(platform, 'VmHWM');

      report(
        `F15: ${jobs} jobs were admitted at ${perSecond.toFixed(0)}/s and finished in ${(drainedMs / 1_000).toFixed(1)} s`,
      );
      report(`F15: the API used ${megabytes(crowded)} MB with all of them waiting, ${megabytes(largest)} MB at most`);
      report(`F15: a waiting job takes ${Math.round((ofQueue - ofEmptyQueue) / jobs)} bytes of Redis`);
      for (const { tier, jobs: of, turn, fair, ratio } of waits) {
        report(`F15: ${tier}, ${of} jobs: worst turn ${turn} of a fair ${fair}, ${ratio.toFixed(2)}`);
      }
      for (const { tier, ratio } of waits) expect(ratio, tier).toBeLessThanOrEqual(maxRatio);
      expect(largest).toBeLessThan(maxApiBytes);
    }, 1_200_000);
  },
);

function megabytes(bytes: number): string {
  return (bytes / 1_024 / 1_024).toFixed(0);
}
