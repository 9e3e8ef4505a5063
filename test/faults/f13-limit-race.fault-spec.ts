import { expect, it } from 'vitest';
import type { Platform } from '#test/platform';
import { describeFault } from './fault-scene.js';
import { askAtOnce, countBy, paidChatNano, paidModel } from './paid-chat.js';

/* F13: concurrent requests race for the limit of a key and the balance of its account. */

const callers = 500;
const keyCovers = 60;
const accountCovers = 100;

/** Lets the inference key pay for `count` more chats, whatever it has spent today. */
async function limitKey(platform: Platform, chats: number): Promise<void> {
  await platform.query(
    `UPDATE api_keys SET limit_period = 'EPOCH', limit_usd_nano = $1::bigint + COALESCE(
       (SELECT day_usd_nano FROM key_spend WHERE api_key_id = api_keys.id), 0) WHERE kind = 'INFERENCE'`,
    [String(BigInt(chats) * paidChatNano)],
  );
}

async function overshoot(platform: Platform): Promise<{ key: bigint; account: bigint }> {
  const [row] = await platform.query<{ key: string; account: string }>(
    `SELECT (SELECT max(s.day_usd_nano + s.held_usd_nano - k.limit_usd_nano) FROM key_spend s
               JOIN api_keys k ON k.id = s.api_key_id WHERE k.limit_usd_nano IS NOT NULL) AS key,
            (SELECT max(usd_held_nano - usd_nano) FROM balances) AS account`,
  );
  return { key: BigInt(row?.key ?? 1), account: BigInt(row?.account ?? 1) };
}

describeFault(
  'F13',
  { replicas: { api: 3 }, models: [paidModel], creditNano: BigInt(callers) * paidChatNano },
  (running) => {
    it(`${callers} clients over 3 replicas never exceed the limit of their key`, async () => {
      const platform = running();
      await limitKey(platform, keyCovers);
      const requests = Array.from({ length: callers }, (_, index) => ({ text: `Key ${index}` }));
      const answers = await askAtOnce(platform, requests);
      expect(countBy(answers)).toEqual({
        '200': keyCovers,
        '402 API_KEY_USD_SPEND_LIMIT_EXCEEDED': callers - keyCovers,
      });
      await platform.closedJobs(20_000);
      expect(await overshoot(platform)).toMatchObject({ key: 0n });
    }, 300_000);

    it(`${callers} clients with two keys of one account exceed neither the key's limit nor the balance`, async () => {
      const platform = running();
      await platform.query(`SELECT ledger_credit('revoke', account_id, 'USD', usd_nano - $1, NULL, '') FROM balances`, [
        String(BigInt(accountCovers) * paidChatNano),
      ]);
      await limitKey(platform, keyCovers);
      const limited = platform.inferenceKey;
      const requests = Array.from({ length: callers }, (_, index) => ({
        text: `Both ${index}`,
        key: index % 2 === 0 ? limited : platform.adminKey,
      }));
      const answers = await askAtOnce(platform, requests);
      const succeeded = (key: string) =>
        answers.filter(({ status }, index) => status === 200 && requests[index]?.key === key).length;
      expect(succeeded(limited)).toBeLessThanOrEqual(keyCovers);
      expect(succeeded(limited) + succeeded(platform.adminKey)).toBe(accountCovers);
      expect(answers.filter(({ status }) => status !== 200 && status !== 402)).toEqual([]);
      await platform.closedJobs(20_000);
      const { key, account } = await overshoot(platform);
      expect(key).toBeLessThanOrEqual(0n);
      expect(account).toBe(0n);
    }, 300_000);
  },
);
