import { expect, it } from 'vitest';
import { askWhole, ChatStreamReader } from './chat-caller.js';
import { amount, describeFault, eventually } from './fault-scene.js';
import { ledgerOf } from './job-ledger.js';

/* F25: a request that kills every process that runs it. */

const maxRuns = 2;
const poisons = amount({ full: 5, quick: 2 });

describeFault('F25', { models: [{ id: 'tiny-llama' }, { id: 'other', seed: 2 }] }, (running) => {
  it(`a request whose host dies of SIGSEGV each time is given up after ${maxRuns} runs, and costs nothing`, async () => {
    const platform = running();
    const workerPid = platform.pid('worker');
    const other = await ChatStreamReader.open(platform, { model: 'other', directives: 'tokens=60 delay=100' });
    for (let round = 0; round < poisons; round += 1) {
      const token = round % 2 === 0 ? 0 : 3;
      const poison = await askWhole(platform, {
        directives: `tokens=9 delay=5 segv=${token}`,
        text: `Poison ${round}`,
      });
      expect([poison.status, poison.errorCode]).toEqual([503, 'MODEL_OFFLINE']);
      expect((await platform.journal.runsOf(poison.requestId)).length).toBeLessThanOrEqual(maxRuns);
      await platform.closedJobs();
      const [ledgerState] = await ledgerOf(platform, [poison.requestId]);
      expect(ledgerState).toMatchObject({
        state: 'failed',
        errorCode: 'DEVICE_LOST',
        reservationState: 'released',
        charges: 0,
      });
      const healthy = await eventually('the model serves again', async () => {
        const answer = await askWhole(platform, { directives: 'tokens=4', text: `Healthy ${round}` });
        return answer.status === 200 && answer;
      });
      expect(healthy.completionTokens).toBe(4);
    }
    await other.ended;
    expect([other.isComplete, other.tokens]).toEqual([true, 60]);
    expect(platform.pid('worker')).toBe(workerPid);
  }, 180_000);
});
