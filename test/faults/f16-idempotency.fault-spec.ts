import { expect, it } from 'vitest';
import type { Transport } from '#test/extent';
import type { Platform } from '#test/platform';
import { seededRandom } from '#test/seeded-random';
import { amount, describeFault, pause } from './fault-scene.js';
import { type JobLedger, readLedger } from './job-ledger.js';

/* F16: one key, many requests, and replicas that die in between. */

const atOnce = 50;
const bursts = amount({ full: 20, quick: 3 });
const kills = amount({ full: 12, quick: 1 });
/** The rows of a dead replica are evaluated after 15 s; the job it left is stopped before that. */
const evaluatedWithinMs = 40_000;

interface Keyed {
  key: string;
  content: string;
  stream: boolean;
}

interface Received {
  status: number;
  body: string;
  isReplay: boolean;
  code: string | null;
}

async function post(platform: Platform, options: Keyed, replica: number): Promise<Received> {
  const { key, content, stream } = options;
  const response = await fetch(`${platform.origins[replica]}/api/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${platform.inferenceKey}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body: JSON.stringify({ model: 'tiny-llama', messages: [{ role: 'user', content }], stream }),
  });
  const body = await response.text();
  const isReplay = response.headers.get('idempotent-replayed') === 'true';
  const { status } = response;
  const code = status === 200 ? null : (JSON.parse(body) as { error: { code: string } }).error.code;
  if (status === 409) expect(response.headers.get('x-should-retry')).toBe('false');
  return { status, body, isReplay, code };
}

/** Final response for a key: retries while the first request runs. */
async function settle(platform: Platform, options: Keyed, replica: number): Promise<Received> {
  const deadline = Date.now() + evaluatedWithinMs;
  for (;;) {
    const received = await post(platform, options, replica);
    if (received.code !== 'IDEMPOTENCY_KEY_IN_USE' || Date.now() > deadline) return received;
    await pause(250);
  }
}

/** Runs and charges since then. */
async function ledgerSince(platform: Platform, before: number): Promise<JobLedger[]> {
  await platform.closedJobs(30_000);
  return (await readLedger(platform)).slice(before);
}

async function jobCount(platform: Platform): Promise<number> {
  return (await readLedger(platform)).length;
}

const transports = amount<Transport[]>({ full: ['redis', 'postgres'], quick: ['postgres'] });

describeFault('F16', { replicas: { api: 3 }, transports }, (running) => {
  it(`${atOnce} equal concurrent requests run once and get equal responses, ${bursts} times`, async () => {
    const platform = running();
    for (let burst = 0; burst < bursts; burst += 1) {
      const before = await jobCount(platform);
      const directives = `tokens=12 delay=${burst % 3 === 0 ? 40 : 2}`;
      const options = { key: `burst-${burst}`, content: `Burst ${burst} [[${directives}]]`, stream: burst % 2 === 1 };
      const answers = await Promise.all(
        Array.from({ length: atOnce }, (_, index) => settle(platform, options, index % platform.origins.length)),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
      expect(answers.filter(({ isReplay }) => !isReplay)).toHaveLength(1);
      expect(await ledgerSince(platform, before)).toMatchObject([{ state: 'succeeded', charges: 1 }]);
    }
    const contents = (await platform.journal.runs()).length;
    expect(contents).toBe(bursts);
  }, 240_000);

  it('another body is rejected and runs nothing', async () => {
    const platform = running();
    const options = { key: 'one-body', content: 'One body [[tokens=4]]', stream: false };
    expect((await post(platform, options, 0)).status).toBe(200);
    const before = await jobCount(platform);
    const others = [
      { ...options, content: 'Another [[tokens=4]]' },
      { ...options, stream: true },
    ];
    const refused = await Promise.all(
      others.flatMap((other) => [0, 1, 2].map((replica) => post(platform, other, replica))),
    );
    expect(new Set(refused.map(({ status, code }) => `${status} ${code}`))).toEqual(new Set(['400 INVALID_REQUEST']));
    expect(await ledgerSince(platform, before)).toEqual([]);
  });

  it('a response is replayed byte for byte after its replica was killed', async () => {
    const platform = running();
    for (const stream of [true, false]) {
      const options = { key: `survivor-${stream}`, content: 'Survive [[tokens=20 think=3]]', stream };
      const first = await post(platform, options, 0);
      await platform.kill('api');
      const again = await Promise.all([1, 2].map((replica) => post(platform, options, replica)));
      await platform.start('api');
      for (const { body, isReplay } of [...again, await post(platform, options, 0)]) {
        expect(body).toBe(first.body);
        expect(isReplay).toBe(true);
      }
    }
  }, 120_000);

  it(`a replica killed at ${kills} random moments leaves no key blocked, and none charged twice`, async () => {
    const platform = running();
    const random = seededRandom(16);
    for (let trial = 0; trial < kills; trial += 1) {
      const before = await jobCount(platform);
      const options = {
        key: `kill-${trial}`,
        content: `Kill ${trial} [[tokens=20 delay=20]]`,
        stream: trial % 2 === 1,
      };
      const first = post(platform, options, 0).catch(() => null);
      await pause(random() * 700);
      await platform.kill('api');
      await first;
      const answers = await Promise.all([1, 2, 1].map((replica) => settle(platform, options, replica)));
      const ledgerState = await ledgerSince(platform, before);
      const charged = ledgerState.filter(({ charges }) => charges > 0);
      const place = `trial ${trial}: ${JSON.stringify(answers.map(({ status, code }) => [status, code]))}`;
      expect(charged.length, place).toBe(1);
      expect(
        new Set(answers.map(({ body }) => (body.includes('IDEMPOTENT_ANSWER_LOST') ? 'lost' : body))).size,
        place,
      ).toBe(1);
      for (const { status, code } of answers) {
        expect(status === 200 || code === 'IDEMPOTENT_ANSWER_LOST', place).toBe(true);
      }
      await platform.start('api');
    }
  }, 900_000);
});
