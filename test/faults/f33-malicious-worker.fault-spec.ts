import { expect, it } from 'vitest';
import { deriveKey, noTokens } from '#common';
import { createTransport } from '#queue';
import { poolKeys } from '#queue/pools';
import type { Transport } from '#test/extent';
import { openAttackedStore } from './attacked-store.js';
import { askWhole } from './chat-caller.js';
import { amount, describeFault, eventually } from './fault-scene.js';
import { ledgerOf } from './job-ledger.js';
import { countRefusals, forgedText, MaliciousWorker } from './malicious-worker.js';

/*
 * F33: a worker with the credentials of its pool reads, answers and speaks for others, disturbs, forges, replays, locks and
 * floods.
 */

const flood = amount({ full: 50_000, quick: 4_000 });
const names = { own: 'other', victim: 'tiny-llama' };
const models = [{ id: names.victim }, { id: names.own, seed: 2 }];
const secret = 'A secret of another pool';

const transports = amount<Transport[]>({ full: ['redis', 'postgres'], quick: ['redis'] });

describeFault('F33', { transports, models, unnamed: [names.own] }, (running, transport) => {
  it('gets nothing that its pool may not have, and no caller pays for it', async () => {
    const platform = running();
    const queueKey = deriveKey(platform.secretKey, 'queue payloads').toString('hex');
    const store = await openAttackedStore(platform, transport, names);
    const common = { url: store.url, namespace: 'sluice', clientName: 'stolen', warn: () => undefined };
    const stolen = await createTransport({ ...common, sealKeys: poolKeys([queueKey], [names.own]) });
    const worker = new MaliciousWorker(stolen, store, names);
    const refused = (expected: Record<string, number>) =>
      eventually(`refusals ${JSON.stringify(expected)}`, async () => {
        const counts = await countRefusals(platform);
        return Object.entries(expected).every(([reason, count]) => (counts[reason] ?? 0) >= count) && counts;
      });
    try {
      const victim = askWhole(platform, { directives: 'tokens=60 delay=100', text: secret });
      const { id: victimId, stored } = await eventually('the job of the victim runs', () => store.runningJob());
      expect(stored).toContain('sealed');
      expect(stored).not.toContain(secret);
      const { replyTo } = JSON.parse(stored) as { replyTo: string };
      expect(await worker.read(victimId, replyTo)).toEqual([]);
      await worker.answer(victimId, replyTo);
      await worker.disturb(victimId);
      await worker.impersonate(victimId);
      const ignored = await eventually('the bus refuses what is forged', async () => {
        const counts = await countRefusals(platform, 'bus_messages');
        const isCounted = ['unsigned', 'forged', 'replayed', 'outside-scope'].every(
          (reason) => (counts[reason] ?? 0) > 0,
        );
        return isCounted && counts;
      });
      await worker.forge(victimId);
      await refused({ unsigned: 1, 'unknown-key': 1 });

      const greedy = await worker.serve((job) => worker.claimTooMuch(job, victimId));
      const ask = (text: string) => askWhole(platform, { directives: 'tokens=2', model: names.own, text });
      const overcharged = await eventually('the model of the pool is served', async () => {
        const answer = await ask('Too much');
        return answer.errorCode !== 'MODEL_OFFLINE' && answer;
      });
      expect([overcharged.status, overcharged.errorCode]).toEqual([500, 'INFERENCE_FAILED']);
      await refused({ usage: 1, forged: 1 });
      await greedy.close();

      const replaying = await worker.serve(async (job) => {
        await worker.replay(job, 5);
        return { usage: { ...noTokens, promptTokens: 1, completionTokens: 1 }, cancelled: false, executionMs: 1 };
      });
      const replayed = await ask('Again and again');
      await refused({ forged: 2 });
      await replaying.close();

      await worker.holdUp();
      await worker.flood(flood);
      const after = await askWhole(platform, { directives: 'tokens=7', text: 'While the flood is handled' });
      const counts = await refused({ unsigned: 1 + flood / 2, malformed: flood / 2 });
      const honest = await victim;
      expect(honest.text).not.toContain(forgedText);
      expect([honest, after].map(({ status, completionTokens }) => [status, completionTokens])).toEqual([
        [200, 60],
        [200, 7],
      ]);

      await platform.closedJobs();
      const ids = [honest, after, replayed, overcharged].map(({ requestId }) => requestId);
      const rows = await ledgerOf(platform, ids);
      const ends = ids.map((id) => rows.find(({ requestId }) => requestId === id));
      expect(ends.map((row) => [row?.state, row?.errorCode, row?.charges, row?.completionTokens])).toEqual([
        ['succeeded', null, 1, 60],
        ['succeeded', null, 1, 7],
        ['succeeded', null, 1, 1],
        ['failed', 'INFERENCE_FAILED', 0, null],
      ]);
      worker.note('refused', JSON.stringify(counts));
      worker.note('ignored', JSON.stringify(ignored));
      worker.note('ledger', 'two honest chats and one replayed result charged once each; the impossible one is free');
    } finally {
      process.stdout.write(`${worker.transcript.join('\n')}\n`);
      await stolen.close();
      await store.close();
    }
  }, 120_000);
});
