import { describe, expect, it } from 'vitest';
import { readProgress } from './job-progress.js';

function json(body: object, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  });
}

describe('the progress of a job', () => {
  it('is what the service says', async () => {
    const running = json(
      { status: 'PROCESSING', average_execution_time: 21_000, execution_duration: 8400 },
      { 'x-service-progress-percent': '40' },
    );
    expect(await readProgress(running)).toEqual({
      state: 'processing',
      percent: 40,
      elapsedMs: 8400,
      typicalMs: 21_000,
      reason: null,
    });
  });

  it('says why a job waits', async () => {
    const waiting = json({ status: 'PROCESSING' }, { 'x-service-queued-reason': 'model-loading' });
    expect(await readProgress(waiting)).toMatchObject({ percent: null, reason: 'The model is loading' });
  });

  it('ends with the media, or with a delivery by link', async () => {
    const media = await readProgress(new Response('mp4', { headers: { 'content-type': 'video/mp4' } }));
    expect(media.state === 'done' && (await media.media.text())).toBe('mp4');
    expect(await readProgress(json({ status: 'COMPLETED' }))).toEqual({ state: 'delivered' });
  });
});
