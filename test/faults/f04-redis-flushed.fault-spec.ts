import { expect, it } from 'vitest';
import type { Platform } from '#test/platform';
import { askWhole, ChatStreamReader } from './chat-caller.js';
import { describeFault, eventually } from './fault-scene.js';
import { ledgerOf } from './job-ledger.js';
import { installMediaModels } from './media-slices.js';
import { redisCommand } from './redis-command.js';

/* F4: Redis loses all data while jobs are waiting and running. */

const waiting = 50;
const restartedWithinMs = 30_000;

/** The given jobs that are in Redis. */
const countJobs = `local n = 0
  for _, id in ipairs(ARGV) do if #redis.call('KEYS', '*:' .. id) > 0 then n = n + 1 end end
  return n`;

/** Longer than half a lock: a worker that ends sooner need not ask whether its job is still its own. */
const audioMs = 10_000;

/** Queues audio and waits until a worker runs it; resolves to the id of its job. */
async function startAudio(platform: Platform): Promise<string> {
  const response = await fetch(`${platform.baseUrl}/audio/queue`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'tiny-kokoro', prompt: `Sound that is lost while it is made [[delay=${audioMs}]].` }),
  });
  expect(response.status).toBe(200);
  const requestId = response.headers.get('cf-ray') ?? '';
  await eventually(
    'the audio is being made',
    async () => (await ledgerOf(platform, [requestId]))[0]?.state === 'running',
  );
  return requestId;
}

describeFault('F4', { env: { SLUICE_SLOTS: '4' }, install: installMediaModels }, (running) => {
  it(`FLUSHALL: ${waiting} waiting jobs are back within ${restartedWithinMs / 1_000} s, running async ones start anew, and no stream hangs`, async () => {
    const platform = running();
    // Four slots and one job that waits in the host: all later jobs wait in the queue.
    const streams = await Promise.all(
      [1, 2, 3, 4, 5].map((index) =>
        ChatStreamReader.open(platform, { directives: 'tokens=120 delay=100', text: `Busy ${index}` }),
      ),
    );
    await Promise.all(streams.slice(0, 4).map((stream) => stream.untilTokens(1)));
    const requests = Array.from({ length: waiting }, (_, index) => ({ directives: 'tokens=3', text: `Wait ${index}` }));
    const asked = Promise.all(requests.map((options) => askWhole(platform, options)));
    const [row] = await eventually('all are admitted', async () => {
      const rows = await platform.query<{ count: number; ids: string[] }>(
        `SELECT count(*)::int AS count, array_agg(request_id) AS ids FROM jobs WHERE state = 'queued' AND NOT stream`,
      );
      return rows[0]?.count === waiting && rows;
    });
    const requestIds = row?.ids ?? [];

    // A row exists before its job: jobs that enter the queue after the flush were never lost.
    const inQueue = () => redisCommand(platform.redis, 'EVAL', countJobs, '0', ...requestIds);
    await eventually('all are in the queue', async () => (await inQueue()) === `:${waiting}`);

    const audioId = await startAudio(platform);
    const flushedAtMs = Date.now();
    await redisCommand(platform.redis, 'FLUSHALL');

    const answers = await asked;
    await Promise.all(streams.map(({ ended }) => ended));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const restarted = await platform.query<{ enqueued_at: Date; attempt: number }>(
      'SELECT enqueued_at, attempt FROM jobs WHERE request_id = ANY ($1)',
      [requestIds],
    );
    expect(restarted.map(({ attempt }) => attempt)).toEqual(requestIds.map(() => 2));
    const latest = Math.max(...restarted.map(({ enqueued_at: at }) => at.getTime()));
    expect(latest - flushedAtMs).toBeLessThanOrEqual(restartedWithinMs);
    // Its result would have been read from the row: it is made once more, and paid once.
    await eventually('the audio is made', async () => (await ledgerOf(platform, [audioId]))[0]?.state === 'succeeded');
    const [audio] = await ledgerOf(platform, [audioId]);
    expect(audio).toMatchObject({ attempt: 2, charges: 1, reservationState: 'settled' });
    await platform.closedJobs();
    for (const ledgerState of await ledgerOf(platform, requestIds)) {
      expect(ledgerState).toMatchObject({ state: 'succeeded', charges: 1 });
    }
    // A worker whose job is no longer in the queue cannot know whether another one has it. It stays silent, and the
    // sweep closes the row. The partial stream is then free; none hangs, and none is charged in part.
    for (const stream of streams) {
      const [ledgerState] = await ledgerOf(platform, [stream.requestId]);
      if (stream.isComplete)
        expect(ledgerState).toMatchObject({ state: 'succeeded', completionTokens: 120, charges: 1 });
      else expect(ledgerState).toMatchObject({ state: 'failed', reservationState: 'released', charges: 0 });
      expect(stream.isComplete).toBe(stream.errorCode === null);
    }
  }, 180_000);
});
