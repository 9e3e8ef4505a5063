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
 * Every process and every store on a host of its own, with cables that can be pulled and one that is slow. Unlike a
 * process that stands still, a host that was cut off goes on by itself, and all it wanted to say comes later.
 */

const hosts = ['api', 'ops', 'worker', 'worker-2', 'postgres', 'redis', 'slow'];
const slowMs = 2_000;

let network: HostNetwork;
let slowLink: SlowLink;
let platform: Platform;
/** Environment of the worker that does not reach Redis but over the slow link; it starts when there is one. */
const behindSlowLink: Record<string, string> = {};
/** Requests of which ops was told once more than counts. */
const turnedDown = new Set<string>();

beforeAll(async () => {
  network = HostNetwork.open(hosts);
  platform = await startPlatform({
    site: network,
    transport: 'redis',
    ownPostgres: true,
    replicas: { worker: 1 },
    // Rate limits have tests of their own; here one account asks for more than any caller may.
    env: { SLUICE_RATE_LIMITS: 'false', SLUICE_SLOTS: '8' },
    onLog: (text) => {
      for (const [, requestId = ''] of text.matchAll(/"requestId":"([^"]+)"[^\n]*an outcome came twice, late/g)) {
        turnedDown.add(requestId);
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

function wishes(count: number, { text, directives }: { text: string; directives: string }): ChatOptions[] {
  return Array.from({ length: count }, (_, index) => ({ text: `${text} ${index}`, directives }));
}

/** What a whole answer has to be, whichever worker gave it. */
function wordsFor({ directives, text = '' }: ChatOptions, count: number): string {
  return deterministicWords(`user: ${contentOf({ directives, text })}`, { count }).join('');
}

async function runsOfWorker(pid: number) {
  return (await platform.journal.runs()).filter(({ workerPid }) => workerPid === pid);
}

describe('a worker on another host', () => {
  it('that is cut off in the middle of its jobs loses them to another one, and what it says later does not count', async () => {
    // Done within half a lock: the worker has no reason to ask whether its jobs are still its own.
    const words = 30;
    const asked = wishes(6, { text: 'Cut off', directives: `tokens=${words} delay=100` });
    const answering = asked.map((options) => askWhole(platform, options));
    const stream = await ChatStreamReader.open(platform, { text: 'Cut stream', directives: 'tokens=60 delay=100' });
    await eventually('all of them run', async () => (await platform.journal.runs()).length > asked.length);
    const cutOffPid = platform.pid('worker');
    await platform.start('worker-2');
    await pause(1_000);
    network.cut('worker');
    const cutAtMs = Date.now();

    const answers = await Promise.all(answering);
    await stream.ended;
    await platform.closedJobs(3 * lockMs);
    const requestIds = [...answers.map(({ requestId }) => requestId), stream.requestId];
    const before = await ledgerOf(platform, requestIds);
    // It has ended all of them by itself meanwhile, as it believes.
    await eventually('the engine behind the cut has ended its runs', async () =>
      (await runsOfWorker(cutOffPid)).every(({ endedAtMs }) => endedAtMs !== null),
    );
    await pause(Math.max(0, cutAtMs + 2 * lockMs - Date.now()));
    network.mend('worker');
    await eventually('all it wanted to say has been turned down', async () =>
      answers.every(({ requestId }) => turnedDown.has(requestId)),
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
    // Half of a stream is with its caller already: it is not run again, and ends with an error.
    expect(stream.isComplete).toBe(false);
    expect(stream.errorCode).not.toBeNull();
    expect(await ledgerOf(platform, requestIds)).toEqual(before);
    for (const ledgerState of before.slice(0, answers.length)) {
      expect(ledgerState).toMatchObject({ state: 'succeeded', charges: 1, holdState: 'settled' });
      expect(ledgerState.chargedNano).toBe(chatCostNano(ledgerState));
    }
    expect(before.at(-1)).toMatchObject({ state: 'failed', charges: 0, holdState: 'released' });
  }, 180_000);

  it(`behind a link of ${slowMs} ms each way loses and doubles nothing`, async () => {
    await platform.start('worker-2');
    await eventually('both workers run jobs', async () => {
      await Promise.all(
        wishes(20, { text: 'Both', directives: 'tokens=2 delay=50' }).map((options) => askWhole(platform, options)),
      );
      return (await runsOfWorker(platform.pid('worker-2'))).length > 0;
    });
    const known = (await readLedger(platform)).length;
    const asked = wishes(40, { text: 'Slow', directives: 'tokens=10 delay=100' });
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
    // Those on the other worker know nothing of it.
    const fast = new Set((await runsOfWorker(platform.pid('worker'))).map(({ requestId }) => requestId));
    const untouched = answers.filter(({ requestId }) => fast.has(requestId));
    expect(untouched.length).toBeGreaterThan(0);
    for (const { status } of untouched) expect(status).toBe(200);
  }, 180_000);

  it('with Redis cut off from everybody: what is asked is refused, and what was accepted ends once and is paid as produced', async () => {
    const asked = wishes(6, { text: 'No queue', directives: 'tokens=30 delay=100' });
    const answering = asked.map((options) => askWhole(platform, options));
    await pause(1_000);
    network.cut('redis');
    await pause(1_000);
    const refused = await Promise.all(
      wishes(3, { text: 'Refused', directives: 'tokens=2' }).map((options) => askWhole(platform, options)),
    );
    await pause(4_000);
    network.mend('redis');
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
      // Whoever hears nothing for 4 s counts as gone, and a silent cable looks the same: some of them end early.
      if (status === 200) expect(text).toBe(wordsFor(asked[index] ?? { directives: '' }, 30));
      else expect(status).toBe(503);
      const row = ledgerState[index];
      if (row?.charges === 1) expect(row.chargedNano).toBe(chatCostNano(row));
      else expect(row).toMatchObject({ charges: 0, holdState: 'released' });
    }
    await eventually('it takes jobs again', async () => {
      const answer = await askWhole(platform, { directives: 'tokens=2', text: 'Redis is back' });
      return answer.status === 200;
    });
  }, 120_000);
});
