import { expect, it } from 'vitest';
import type { Platform } from '#test/platform';
import { askWhole, ChatStreamReader } from './chat-caller.js';
import { describeFault, eventually } from './fault-scene.js';
import { ledgerOf } from './job-ledger.js';
import { MachineBaseline } from './machine-baseline.js';

/* F24: a model host runs out of memory, is killed by the system, or aborts in native code. */

const reloadBeyondLoadMs = 5_000;

/** Normal load time of the model from process start, as logged by the worker. */
function loadMs(platform: Platform): number {
  const timeOf = (pattern: RegExp) => Date.parse(pattern.exec(platform.log())?.[1] ?? '');
  const startedAtMs = timeOf(/"time":"([^"]+)"[^\n]*"msg":"loading tiny-llama"/);
  const readyAtMs = timeOf(/"time":"([^"]+)"[^\n]*"msg":"tiny-llama runs on /);
  return readyAtMs - startedAtMs;
}

describeFault('F24', { models: [{ id: 'tiny-llama' }, { id: 'other', seed: 2 }] }, (running) => {
  it.each([
    { how: 'runs out of device memory', fault: 'lose' },
    { how: 'is killed by the system', fault: 'crash' },
    { how: 'aborts in native code', fault: 'abort' },
  ])('a host that $how fails its request over once, and affects no other model', async ({ fault }) => {
    const platform = running();
    // A new worker for each case: hosts that die repeatedly wait longer before each restart.
    await platform.kill('worker');
    await platform.start('worker');
    await platform.untilOnline();
    // The models of the killed worker may still count as online for a moment.
    for (const model of ['tiny-llama', 'other']) {
      await eventually(`the new worker serves ${model}`, async () => {
        const answer = await askWhole(platform, { model, directives: 'tokens=1', text: `Ready for ${fault}` });
        return answer.status === 200;
      });
    }
    const baseline = new MachineBaseline(platform);
    baseline.start();
    const other = await ChatStreamReader.open(platform, {
      model: 'other',
      directives: 'tokens=40 delay=100',
      text: `Beside ${fault}`,
    });
    const workerPid = platform.pid('worker');
    // At once, and after half of the response.
    for (const token of [0, 5]) {
      const directives = `tokens=10 delay=20 ${fault}=${token} once`;
      const answer = await askWhole(platform, { directives, text: `Lost at ${token}` });
      expect([answer.status, answer.completionTokens]).toEqual([200, 10]);
      const runs = await platform.journal.runsOf(answer.requestId);
      expect(runs).toHaveLength(2);
      const [first, second] = runs;
      expect(second?.hostPid).not.toBe(first?.hostPid);
      const diedAtMs = (first?.beganAtMs ?? 0) + token * 20;
      const machineMs = baseline.slowestMs({ fromMs: diedAtMs, toMs: Date.now() });
      expect((second?.beganAtMs ?? Infinity) - diedAtMs).toBeLessThanOrEqual(
        loadMs(platform) + reloadBeyondLoadMs + machineMs,
      );
      await platform.closedJobs();
      const [ledgerState] = await ledgerOf(platform, [answer.requestId]);
      expect(ledgerState).toMatchObject({ state: 'succeeded', completionTokens: 10, charges: 1 });
    }
    await other.ended;
    baseline.stop();
    expect([other.isComplete, other.tokens]).toEqual([true, 40]);
    expect(await platform.journal.runsOf(other.requestId)).toHaveLength(1);
    expect(platform.pid('worker')).toBe(workerPid);
  });
});
