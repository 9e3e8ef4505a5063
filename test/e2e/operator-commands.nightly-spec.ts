import { hostname } from 'node:os';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deriveKey } from '#common';
import { runCommandLine } from '#test/command-line';
import { transportsFor } from '#test/extent';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';

/* What operators do to single jobs and workers of a running installation. */

interface ShownJob {
  requestId: string;
  state: string;
  errorCode: string | null;
  reservation: { state: string; reservedNano: string | number; chargedNano: string | number | null };
  completionTokens: number | null;
  results: { status: string; isApplied: boolean }[];
}

interface ListedWorker {
  id: string;
  state: string;
  running: number;
  models: { modelId: string; state: string }[];
}

describe.each(transportsFor('postgres'))('operator commands with the queue in %s', (transport) => {
  let platform: Platform;

  beforeAll(async () => {
    // One slot takes two jobs; a third one waits in the queue, and no comment begins its stream meanwhile.
    const env = { SLUICE_SLOTS: '1', POD_NAME: 'worker-pod-7', SLUICE_KEEP_ALIVE_MS: '300000' };
    platform = await startPlatform({ transport, env });
  });

  afterAll(() => platform?.stop());

  afterEach(async () => {
    await platform.closedJobs(60_000);
    await expectInvariant(platform);
  });

  const sluice = (...line: string[]) =>
    runCommandLine(line, {
      DATABASE_URL: platform.databaseUrl,
      ...(transport === 'redis' && { SLUICE_QUEUE_URL: platform.redis.url }),
      SLUICE_QUEUE_KEY: deriveKey(platform.secretKey, 'queue payloads').toString('hex'),
      SLUICE_SECRET_KEY: platform.secretKey,
    });
  const sluiceJson = async <Result>(...line: string[]) => JSON.parse(await sluice(...line, '--json')) as Result;

  interface Ended {
    status: number;
    text: string;
  }

  async function ask(content: string, stream: boolean): Promise<Ended> {
    const response = await fetch(`${platform.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'tiny-llama', messages: [{ role: 'user', content }], stream }),
    });
    return { status: response.status, text: await response.text() };
  }

  /** Jobs in a state, once there are so many. */
  async function untilListed(count: number, ...filter: string[]): Promise<ShownJob[]> {
    const deadline = performance.now() + 60_000;
    for (;;) {
      const jobs = await sluiceJson<ShownJob[]>('jobs', 'list', ...filter);
      if (jobs.length >= count) return jobs;
      if (performance.now() > deadline) throw new Error(`only ${JSON.stringify(jobs)}\n${platform.log()}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Longer than several commands take to start on a busy machine; each job is cancelled. */
  const slow = '[[tokens=200 delay=1000]]';

  it.each([true, false])(
    'cancel jobs that run and that wait; their clients are told at once (stream: %s)',
    async (stream) => {
      const running = [ask(slow, stream), ask(slow, stream)];
      await untilListed(2, '--state', 'running');
      const waiting = ask(slow, stream);
      const [queued] = await untilListed(1, '--state', 'queued', '--model', 'tiny-llama');
      expect(await sluice('jobs', 'list', '--state', 'queued', 'running')).toMatch(/queued +chat\.tiny-llama/);

      const cancelled = await sluiceJson<ShownJob>('jobs', 'cancel', queued?.requestId ?? '');
      expect(cancelled).toMatchObject({ state: 'cancelled', errorCode: 'JOB_CANCELLED' });
      expect(String(cancelled.reservation.chargedNano)).toBe('0');
      const told = await waiting;
      expect(told.text).toContain('The operator of this service cancelled the request.');
      expect(told.status).toBe(503);

      for (const { requestId } of await untilListed(2, '--state', 'running')) {
        const ended = await sluiceJson<ShownJob>('jobs', 'cancel', requestId);
        expect(ended.state).toBe('cancelled');
        expect(ended.results).toMatchObject([{ status: 'cancelled', isApplied: true }]);
        expect(await sluice('jobs', 'show', requestId)).toMatch(/started +\d{4}-[^]*money +reserved 0\.\d{9} USD/);
        await expect(sluice('jobs', 'cancel', requestId)).rejects.toThrow('is over: it is cancelled');
      }
      await Promise.all(running);
      expect(await sluice('jobs', 'list', '--stuck')).toBe('no job is like that\n');
    },
  );

  it('drain one worker, which finishes its jobs, stays and can be resumed', async () => {
    const [worker] = await sluiceJson<ListedWorker[]>('workers', 'list');
    const id = worker?.id ?? '';
    expect(worker).toMatchObject({
      id: expect.stringMatching(/^worker-/),
      state: 'active',
      host: hostname(),
      pod: 'worker-pod-7',
      address: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      version: expect.stringMatching(/^\d{8}\.\d{6}$/),
      since: expect.stringMatching(/^\d{4}-/),
      models: [{ modelId: 'tiny-llama', state: 'ready' }],
    });
    const running = ask('[[tokens=100 delay=250]]', false);
    await untilListed(1, '--state', 'running');
    expect(await sluice('workers', 'drain', id)).toContain('takes no more jobs');
    expect(await sluice('workers', 'list')).toMatch(new RegExp(`${id} +drained +.*worker-pod-7`));
    expect((await ask('x', false)).status).toBe(503);
    expect((await running).status).toBe(200);
    expect(await sluiceJson('workers', 'drain', id, '--wait')).toEqual({ id, isDrained: true, running: 0 });
    expect(await sluiceJson('workers', 'resume', id)).toEqual({ id, isDrained: false, running: 0 });
    await platform.untilOnline();
    expect((await ask('[[tokens=2]]', false)).status).toBe(200);
    await expect(sluice('workers', 'drain', 'worker-unknown')).rejects.toThrow('No worker worker-unknown');
  });
});
