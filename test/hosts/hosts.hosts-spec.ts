import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deterministicWords } from '#test/deterministic-engine';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { askWhole, ChatStreamReader, type ChatOptions, contentOf } from '../faults/chat-caller.js';
import { eventually, lockMs, pause } from '../faults/fault-scene.js';
import { ledgerOf, chatCostNano, readLedger } from '../faults/job-ledger.js';
import { HostNetwork } from './host-network.js';
import { SlowLink } from './slow-link.js';

/*
 * Every process and store on a host of its own, with links that can be cut and one that is slow. Unlike a frozen
 * process, a disconnected host continues to work, and its messages arrive later.
 */

const hosts = ['api', 'ops', 'worker', 'worker-2', 'postgres', 'redis', 'slow'];
const slowMs = 2_000;

let network: HostNetwork;
let slowLink: SlowLink;
let platform: Platform;
/** Environment of the worker that reaches Redis only over the slow link; it starts once the link exists. */
const behindSlowLink: Record<string, string> = {};
/** Requests whose job result ops received more than once. */
const rejectedResults = new Set<string>();

beforeAll(async () => {
  network = HostNetwork.open(hosts);
  platform = await startPlatform({
    site: network,
    transport: 'redis',
    ownPostgres: true,
    replicas: { worker: 1 },
    // Rate limits have their own tests; here one account sends more than any client may.
    env: { SLUICE_RATE_LIMITS: 'false', SLUICE_SLOTS: '8' },
    onLog: (text) => {
      for (const [, requestId = ''] of text.matchAll(/"requestId":"([^"]+)"[^\n]*a job result came twice, late/g)) {
        rejectedResults.add(requestId);
      }
    },
    processEnv: { 'worker-2': behindSlowLink },
  });
  const target = { host: network.address('redis'), port: platform.redis.port };
  slowLink = await SlowLink.open(network, { name: 'slow', target });
  behindSlowLink.SLUICE_QUEUE_URL = urlOf(slowLink.address);
});

afterAll(async () => {
  await platform?.stop();
  await slowLink?.close();
  network?.close();
});

afterEach(async () => {
  await platform.closedJobs(2 * lockMs);
  await expectInvariant(platform);
});

function urlOf({ host, port }: { host: string; port: number }): string {
  return `redis://${host}:${port}`;
}

function overrides(count: number, { text, directives }: { text: string; directives: string }): ChatOptions[] {
  return Array.from({ length: count }, (_, index) => ({ text: `${text} ${index}`, directives }));
}

/** Expected complete response, whichever worker generated it. */
function wordsFor({ directives, text = '' }: ChatOptions, count: number): string {
  return deterministicWords(`user: ${contentOf({ directives, text })}`, { count }).join('');
}

async function runsOfWorker(pid: number) {
  return (await platform.journal.runs()).filter(({ workerPid }) => workerPid === pid);
}

describe('a worker on another host', () => {
  it('that is disconnected during its jobs loses them to another one, and its late results do not count', async () => {
    // Done within half a lock, so that the worker has no reason to check its ownership.
    const words = 30;
    const asked = overrides(6, { text: 'Cut off', directives: `tokens=${words} delay=100` });
    const answering = asked.map((options) => askWhole(platform, options));
    const stream = await ChatStreamReader.open(platform, { text: 'Cut stream', directives: 'tokens=60 delay=100' });
    await eventually('all of them run', async () => (await platform.journal.runs()).length > asked.length);
    const disconnectedPid = platform.pid('worker');
    await platform.start('worker-2');
    await pause(1_000);
    network.cut('worker');
    const cutAtMs = Date.now();

    const answers = await Promise.all(answering);
    await stream.ended;
    await platform.closedJobs(3 * lockMs);
    const requestIds = [...answers.map(({ requestId }) => requestId), stream.requestId];
    const before = await ledgerOf(platform, requestIds);
    // It has completed all of them by itself meanwhile, as far as it knows.
    await eventually('the disconnected engine has ended its runs', async () =>
      (await runsOfWorker(disconnectedPid)).every(({ endedAtMs }) => endedAtMs !== null),
    );
    await pause(Math.max(0, cutAtMs + 2 * lockMs - Date.now()));
    network.restore('worker');
    await eventually('all its late results were rejected', async () =>
      answers.every(({ requestId }) => rejectedResults.has(requestId)),
    );
    // It serves again.
    await platform.kill('worker-2');
    await eventually('the worker takes jobs again', async () => {
      const answer = await askWhole(platform, { directives: 'tokens=2', text: 'Mended' });
      return answer.status === 200;
    });

    for (const [index, { status, text }] of answers.entries()) {
      expect(status).toBe(200);
      expect(text).toBe(wordsFor(asked[index] ?? { directives: '' }, words));
    }
    // The client has received half of the stream: it is not rerun, and ends with an error.
    expect(stream.isComplete).toBe(false);
    expect(stream.errorCode).not.toBeNull();
    expect(await ledgerOf(platform, requestIds)).toEqual(before);
    for (const ledgerState of before.slice(0, answers.length)) {
      expect(ledgerState).toMatchObject({ state: 'succeeded', charges: 1, reservationState: 'settled' });
      expect(ledgerState.chargedNano).toBe(chatCostNano(ledgerState));
    }
    expect(before.at(-1)).toMatchObject({ state: 'failed', charges: 0, reservationState: 'released' });
  }, 180_000);

  it(`behind a link of ${slowMs} ms each way loses and duplicates nothing`, async () => {
    await platform.start('worker-2');
    await eventually('both workers run jobs', async () => {
      await Promise.all(
        overrides(20, { text: 'Both', directives: 'tokens=2 delay=50' }).map((options) => askWhole(platform, options)),
      );
      return (await runsOfWorker(platform.pid('worker-2'))).length > 0;
    });
    const known = (await readLedger(platform)).length;
    const asked = overrides(40, { text: 'Slow', directives: 'tokens=10 delay=100' });
    const answering = asked.map((options) => askWhole(platform, options));
    await pause(300);
    slowLink.delay(slowMs);
    await pause(15_000);
    slowLink.delay(0);
    const answers = await Promise.all(answering);
    const ledgerState = (await platform.closedJobs(3 * lockMs)) && (await readLedger(platform)).slice(known);

    expect(ledgerState.length).toBe(asked.length);
    for (const [index, { status, text, requestId }] of answers.entries()) {
      const row = ledgerState.find((each) => each.requestId === requestId);
      if (status === 200) expect(text).toBe(wordsFor(asked[index] ?? { directives: '' }, 10));
      else expect(status).toBe(503);
      expect(row?.charges).toBe(row?.state === 'succeeded' ? 1 : 0);
    }
    // Jobs of the other worker are unaffected.
    const fast = new Set((await runsOfWorker(platform.pid('worker'))).map(({ requestId }) => requestId));
    const unaffected = answers.filter(({ requestId }) => fast.has(requestId));
    expect(unaffected.length).toBeGreaterThan(0);
    for (const { status } of unaffected) expect(status).toBe(200);
  }, 180_000);

  it('with Redis disconnected from all: requests are rejected, and accepted ones end once and are charged for their output', async () => {
    const asked = overrides(6, { text: 'No queue', directives: 'tokens=30 delay=100' });
    const answering = asked.map((options) => askWhole(platform, options));
    await pause(1_000);
    network.cut('redis');
    await pause(1_000);
    const refused = await Promise.all(
      overrides(3, { text: 'Refused', directives: 'tokens=2' }).map((options) => askWhole(platform, options)),
    );
    await pause(4_000);
    network.restore('redis');
    const answers = await Promise.all(answering);

    for (const { status, headers } of refused) {
      expect(status).toBe(503);
      expect(headers.get('retry-after')).toMatch(/^\d+$/);
    }
    await platform.closedJobs(3 * lockMs);
    const ledgerState = await ledgerOf(
      platform,
      answers.map(({ requestId }) => requestId),
    );
    for (const [index, { status, text }] of answers.entries()) {
      // A process without heartbeat for 4 s counts as gone, and a disconnected link looks the same: some jobs end
      // early.
      if (status === 200) expect(text).toBe(wordsFor(asked[index] ?? { directives: '' }, 30));
      else expect(status).toBe(503);
      const row = ledgerState[index];
      if (row?.charges === 1) expect(row.chargedNano).toBe(chatCostNano(row));
      else expect(row).toMatchObject({ charges: 0, reservationState: 'released' });
    }
    await eventually('it takes jobs again', async () => {
      const answer = await askWhole(platform, { directives: 'tokens=2', text: 'Redis is back' });
      return answer.status === 200;
    });
  }, 120_000);
});
