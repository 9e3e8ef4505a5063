import { setMaxListeners } from 'node:events';
import { beforeAll, expect, it } from 'vitest';
import type { Platform } from '#test/platform';
import { askWhole, type WholeResponse } from './chat-caller.js';
import { amount, describeFault, pause } from './fault-scene.js';
import { type LimitedTenant, openLimitedTenant } from './limited-tenant.js';

/* F14: more requests and tokens than a minute allows, and more requests at once, on three replicas. */

const rounds = amount({ full: 5, quick: 1 });
const replicas = 3;

const requestsPerMinute = 100;
const callers = 300;

/** Chats that one account may have open. */
const openAtOnce = 6;

const tokensPerMinute = 50_000;
const usable = 0.98;
/** Output tokens of the 200 that each request may use; the bound of its prompt far exceeds its size. */
const tokensMade = 150;
const tokensAllowed = 200;
/** Every loop ends within the first minute, before anything leaves the windows. */
const withinMs = 45_000;

interface UsedTokens {
  createdMs: number;
  closedMs: number;
  reserved: number;
  used: number;
}

/** Sends `count` concurrent requests, spread over all replicas. */
function askAtOnce(platform: Platform, { key }: LimitedTenant, count: number): Promise<WholeResponse[]> {
  const options = { directives: `tokens=${tokensMade}`, body: { max_completion_tokens: tokensAllowed }, key };
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      askWhole(platform, { ...options, text: `Minute ${index}`, replica: index % replicas }),
    ),
  );
}

/** Opens chats that last until `leave`, spread over the replicas; resolves to their statuses, 0 where the replica is gone. */
function openChats(platform: Platform, { key }: LimitedTenant, count: number, leave: AbortSignal): Promise<number[]> {
  const body = {
    model: 'tiny-llama',
    stream: true,
    messages: [{ role: 'user', content: 'Wait [[tokens=500 delay=500]]' }],
  };
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const origin = platform.origins[index % replicas] ?? '';
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const options = { method: 'POST', headers, body: JSON.stringify(body), signal: leave };
      return await fetch(`${origin}/api/v1/chat/completions`, options).then(
        ({ status }) => status,
        () => 0,
      );
    }),
  );
}

const refusals = (answers: WholeResponse[]): number => answers.filter(({ status }) => status === 429).length;
const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);

async function tokensOf(platform: Platform, { accountId }: LimitedTenant): Promise<UsedTokens[]> {
  const rows = await platform.query<{ created: Date; finished: Date; reserved: string; used: number }>(
    `SELECT created_at AS created, finished_at AS finished, limit_tokens AS reserved,
            prompt_tokens + completion_tokens AS used FROM jobs WHERE account_id = $1 AND state = 'succeeded'`,
    [accountId],
  );
  return rows.map(({ created, finished, reserved, used }) => ({
    createdMs: created.getTime(),
    closedMs: finished.getTime(),
    reserved: Number(reserved),
    used,
  }));
}

/** Sends requests until none fits and surplus reservations are refunded. */
async function useUpMinute(platform: Platform, tenant: LimitedTenant): Promise<void> {
  const deadline = performance.now() + withinMs;
  let used = 0;
  for (let count = 120; performance.now() < deadline && used < usable * tokensPerMinute; count = 24) {
    const answers = await askAtOnce(platform, tenant, count);
    if (refusals(answers) < count) continue;
    await platform.closedJobs();
    used = sum((await tokensOf(platform, tenant)).map((tokens) => tokens.used));
    await pause(50);
  }
}

/** Maximum of tokens reserved by open requests plus tokens used by closed ones, as far as rows show. */
function maxAtOnce(tokens: UsedTokens[]): number {
  return Math.max(
    ...tokens.map(({ createdMs: nowMs }) =>
      sum(
        tokens
          .filter(({ createdMs }) => createdMs <= nowMs)
          .map(({ closedMs, reserved, used }) => (closedMs <= nowMs ? used : reserved)),
      ),
    ),
  );
}

describeFault(
  'F14',
  {
    transports: amount({ full: ['redis', 'postgres'], quick: ['redis'] }),
    replicas: { api: replicas },
    limits: 'contract',
    env: { SLUICE_RATE_LIMITS: 'true', SLUICE_ABUSE_FAILURES: '0' },
  },
  (running) => {
    const hurried: LimitedTenant[] = [];
    const thorough: LimitedTenant[] = [];
    let patient: LimitedTenant;

    beforeAll(async () => {
      patient = await openLimitedTenant(running(), { requests: 1_000_000, concurrent: openAtOnce });
      for (let round = 0; round < rounds; round += 1) {
        hurried.push(await openLimitedTenant(running(), { requests: requestsPerMinute }));
        thorough.push(await openLimitedTenant(running(), { requests: 1_000_000, tokens: tokensPerMinute }));
      }
    });

    it(`${callers} clients over ${replicas} replicas get the ${requestsPerMinute} requests of a minute, ${rounds} times`, async () => {
      for (const tenant of hurried) {
        const answers = await askAtOnce(running(), tenant, callers);
        expect(callers - refusals(answers)).toBe(requestsPerMinute);
        // A burst on one account is admitted one by one: admitted requests may be told to retry.
        expect(answers.filter(({ status }) => ![200, 429, 503].includes(status))).toEqual([]);
      }
    }, 300_000);

    it(`never more tokens than a minute allows, and ${usable * 100} % of them used, ${rounds} times`, async () => {
      for (const tenant of thorough) {
        await useUpMinute(running(), tenant);
        const tokens = await tokensOf(running(), tenant);
        const used = sum(tokens.map((each) => each.used));
        expect(used / tokensPerMinute).toBeGreaterThanOrEqual(usable);
        expect(used).toBeLessThanOrEqual(tokensPerMinute);
        expect(maxAtOnce(tokens)).toBeLessThanOrEqual(tokensPerMinute);
        // Without refunds much less would fit.
        expect(sum(tokens.map(({ reserved }) => reserved))).toBeGreaterThan(2 * tokensPerMinute);
      }
    }, 600_000);

    it(`${openAtOnce} open chats of an account and no more, and none is left of a killed replica`, async () => {
      const leave = new AbortController();
      setMaxListeners(0, leave.signal);
      const first = await openChats(running(), patient, 60, leave.signal);
      expect(first.filter((status) => status === 200)).toHaveLength(openAtOnce);
      expect(first.filter((status) => status === 429)).toHaveLength(60 - openAtOnce);
      await running().kill('api-2');
      leave.abort();
      await running().start('api-2');
      const openAgain = async () => {
        const stop = new AbortController();
        setMaxListeners(0, stop.signal);
        const opened = (await openChats(running(), patient, 30, stop.signal)).filter((status) => status === 200).length;
        stop.abort();
        expect(opened).toBeLessThanOrEqual(openAtOnce);
        return opened;
      };
      // The leases of the killed replica expire; those of the others have ended with their connections.
      await expect.poll(openAgain, { timeout: 120_000, interval: 3_000 }).toBe(openAtOnce);
    }, 240_000);
  },
);
