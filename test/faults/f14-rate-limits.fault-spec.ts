import { beforeAll, expect, it } from 'vitest';
import type { Platform } from '#test/platform';
import { askWhole, type WholeResponse } from './chat-caller.js';
import { amount, describeFault, pause } from './fault-scene.js';
import { type LimitedTenant, openLimitedTenant } from './limited-tenant.js';

/* F14: more requests and tokens than a minute allows, on three replicas at once. */

const rounds = amount({ full: 5, quick: 1 });
const replicas = 3;

const requestsPerMinute = 100;
const callers = 300;

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
    transports: ['redis', 'postgres'],
    replicas: { api: replicas },
    limits: 'contract',
    env: { SLUICE_RATE_LIMITS: 'true', SLUICE_ABUSE_FAILURES: '0' },
  },
  (running) => {
    const hurried: LimitedTenant[] = [];
    const thorough: LimitedTenant[] = [];

    beforeAll(async () => {
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
  },
);
