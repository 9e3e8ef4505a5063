import { expect, it } from 'vitest';
import { deterministicWords } from '#test/deterministic-engine';
import type { PlatformProcess } from '#test/platform';
import { askWhole, contentOf } from './chat-caller.js';
import { amount, describeFault, eventually, lockMs, pause } from './fault-scene.js';
import { ledgerOf, chatCostNano } from './job-ledger.js';

/* F2: a worker freezes for twice its lock, another one takes its jobs, and then it continues. */

const zombies = amount({ full: 20, quick: 6 });
const workers: PlatformProcess[] = ['worker', 'worker-2'];

describeFault('F2', { replicas: { worker: 2 } }, (running) => {
  it(`a frozen worker commits nothing of ${zombies} jobs that another one has completed since`, async () => {
    const platform = running();
    // All of them run on the worker that will freeze; the other one is down until then.
    await platform.kill('worker-2');
    const requests = Array.from({ length: zombies }, (_, index) => ({
      directives: 'tokens=50 delay=100',
      text: `Zombie ${index}`,
    }));
    const asked = Promise.all(requests.map((options) => askWhole(platform, options)));
    await eventually('all run', async () => (await platform.journal.runs()).length >= zombies);
    const frozenPid = platform.pid('worker');
    await platform.start('worker-2');
    await pause(500);
    platform.signal('worker', 'SIGSTOP');
    const frozenAtMs = Date.now();
    const answers = await asked;
    await platform.closedJobs();
    const requestIds = answers.map(({ requestId }) => requestId);
    const before = await ledgerOf(platform, requestIds);

    await pause(Math.max(0, frozenAtMs + 2 * lockMs - Date.now()));
    platform.signal('worker', 'SIGCONT');
    // The host kept running: its worker now finds a finished result for each job.
    await eventually('the frozen worker has the end of every job', async () => {
      const runs = (await platform.journal.runs()).filter(({ workerPid }) => workerPid === frozenPid);
      return runs.length >= zombies && runs.every(({ endedAtMs }) => endedAtMs !== null);
    });
    await pause(3_000);

    for (const [index, { status, text }] of answers.entries()) {
      const content = contentOf(requests[index] ?? { directives: '', text: '' });
      expect(status).toBe(200);
      expect(text).toBe(deterministicWords(`user: ${content}`, { count: 50 }).join(''));
    }
    expect(await ledgerOf(platform, requestIds)).toEqual(before);
    for (const ledgerState of before) {
      expect(ledgerState).toMatchObject({ state: 'succeeded', charges: 1, reservationState: 'settled' });
      expect(ledgerState.chargedNano).toBe(chatCostNano(ledgerState));
    }
    // The worker is an ordinary one again.
    for (const name of workers) if (name !== 'worker') await platform.kill(name);
    await eventually('it serves again', async () => {
      const answer = await askWhole(platform, { directives: 'tokens=2', text: 'Awake' });
      return answer.status === 200;
    });
    await platform.start('worker-2');
    await platform.untilOnline();
  }, 180_000);
});
