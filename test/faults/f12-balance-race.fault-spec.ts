import { expect, it } from 'vitest';
import type { Platform } from '#test/platform';
import { amount, describeFault } from './fault-scene.js';
import { askAtOnce, countBy, paidChatNano, paidModel } from './paid-chat.js';

/* F12: more concurrent requests than a balance covers. */

const rounds = amount({ full: 20, quick: 2 });
const callers = 200;
const covered = 50;
const budgetNano = BigInt(covered) * paidChatNano;

async function balanceOf(platform: Platform): Promise<{ usd: bigint; held: bigint }> {
  const [row] = await platform.query<{ usd: string; held: string }>(
    'SELECT usd_nano AS usd, usd_held_nano AS held FROM balances',
  );
  return { usd: BigInt(row?.usd ?? -1), held: BigInt(row?.held ?? -1) };
}

describeFault(
  'F12',
  { transports: ['redis', 'postgres'], replicas: { api: 3 }, models: [paidModel], creditNano: budgetNano },
  (running) => {
    it(`${callers} clients over 3 replicas on a balance for ${covered}: exactly ${covered} run, ${rounds} times`, async () => {
      const platform = running();
      for (let round = 1; round <= rounds; round += 1) {
        if (round > 1) {
          await platform.query(`SELECT ledger_credit('grant', account_id, 'USD', $1, NULL, '') FROM balances`, [
            String(budgetNano),
          ]);
        }
        const requests = Array.from({ length: callers }, (_, index) => ({ text: `Round ${round} ${index}` }));
        const answers = await askAtOnce(platform, requests);
        expect(countBy(answers)).toEqual({ '200': covered, '402 INSUFFICIENT_BALANCE': callers - covered });
        await platform.closedJobs(20_000);
        expect(await balanceOf(platform)).toEqual({ usd: 0n, held: 0n });
      }
    }, 600_000);
  },
);
