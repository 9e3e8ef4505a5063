import { expect, it } from 'vitest';
import type { Platform } from '#test/platform';
import { askWhole, ChatStreamReader } from './chat-caller.js';
import { amount, describeFault, eventually, pause } from './fault-scene.js';
import { ledgerOf, type JobLedger } from './job-ledger.js';
import { installMediaModels } from './media-slices.js';

/* F9: a worker is stopped while it runs jobs of every kind. */

const drainMs = amount({ full: 10_000, quick: 3_500 });
const exitWithinMs = drainMs + 8_000;
/** Jobs that end in time, and jobs that do not. */
const shortMs = 2_000;
const longMs = 10 * drainMs;

interface Answer {
  requestId: string;
  status: number;
  code: string | null;
  retryAfter: string | null;
}

function send(platform: Platform, path: string, body: object): Promise<Response> {
  return fetch(`${platform.baseUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function post(platform: Platform, path: string, body: object): Promise<Answer> {
  const response = await send(platform, path, body);
  const bytes = Buffer.from(await response.arrayBuffer());
  return {
    requestId: response.headers.get('cf-ray') ?? '',
    status: response.status,
    code: response.ok ? null : codeOf(JSON.parse(bytes.toString('utf8')) as ErrorBody),
    retryAfter: response.headers.get('retry-after'),
  };
}

type ErrorBody = { error: { code: string } } | { error: string; code: string };

function codeOf(body: ErrorBody): string {
  return 'code' in body ? body.code : body.error.code;
}

const image = (platform: Platform, delayMs: number) =>
  post(platform, '/image/generate', {
    model: 'tiny-painter',
    prompt: `An image [[delay=${delayMs}]]`,
    width: 64,
    height: 64,
    format: 'png',
    safe_mode: false,
    return_binary: true,
  });

const speech = (platform: Platform, delayMs: number) =>
  post(platform, '/audio/speech', {
    model: 'tiny-kokoro',
    voice: 'af_sky',
    input: `A sentence [[delay=${delayMs}]].`,
    response_format: 'wav',
  });

interface QueuedAudio {
  requestId: string;
  queueId: string;
}

async function queueAudio(platform: Platform, prompt: string): Promise<QueuedAudio> {
  const response = await send(platform, '/audio/queue', { model: 'tiny-kokoro', prompt });
  expect(response.status).toBe(200);
  const { queue_id: queueId } = (await response.json()) as { queue_id: string };
  return { requestId: response.headers.get('cf-ray') ?? '', queueId };
}

/** Why a queued job waits, as its caller is told. */
async function queuedReason(platform: Platform, { queueId }: QueuedAudio): Promise<string | null> {
  const response = await send(platform, '/audio/retrieve', { model: 'tiny-kokoro', queue_id: queueId });
  expect(await response.json()).toMatchObject({ status: 'PROCESSING' });
  return response.headers.get('x-service-queued-reason');
}

/** Running rows, by kind of job. */
async function running(platform: Platform): Promise<Record<string, number>> {
  const rows = await platform.query<{ modality: string; count: number }>(
    `SELECT modality, count(*)::int AS count FROM jobs WHERE state = 'running' GROUP BY modality`,
  );
  return Object.fromEntries(rows.map(({ modality, count }) => [modality, count]));
}

async function readyStatus(url: string): Promise<number> {
  return (await fetch(`${url}/health/ready`)).status;
}

const paid = { state: 'succeeded', reservationState: 'settled', charges: 1 };
const refunded = { state: 'failed', errorCode: 'MODEL_AT_CAPACITY', reservationState: 'released', charges: 0 };

describeFault(
  'F9',
  { env: { SLUICE_DRAIN_MS: String(drainMs), SLUICE_SLOTS: '4' }, install: installMediaModels },
  (platformOf) => {
    it('a stopping worker finishes what it can and hands the rest back, and new requests wait for the next one', async () => {
      const platform = platformOf();
      const worker = platform.operationsUrl('worker');
      const short = [
        ChatStreamReader.open(platform, { directives: `tokens=20 delay=${shortMs / 20}`, text: 'Short' }),
        image(platform, shortMs),
        speech(platform, shortMs),
      ] as const;
      // The test double runs them one after another: the short ones come first.
      await eventually('the short ones run', async () => {
        const { chat = 0, image = 0, speech: spoken = 0 } = await running(platform);
        return chat === 1 && image === 1 && spoken === 1;
      });
      const longStream = await ChatStreamReader.open(platform, {
        directives: `tokens=900 delay=${longMs / 900}`,
        text: 'Long',
      });
      const long = [image(platform, longMs), speech(platform, longMs)] as const;
      const audio = await queueAudio(platform, 'Sound that can be made anew [[delay=1000]].');
      await eventually('the long ones run', async () => {
        const { chat = 0, image = 0, speech: spoken = 0 } = await running(platform);
        return chat === 2 && image === 2 && spoken === 2;
      });
      await longStream.untilTokens(1);

      const publishedAtMs = Date.now();
      const ended = platform.kill('worker', 'SIGTERM');
      await eventually('it is not ready', async () => (await readyStatus(worker)) === 503, 2_000);
      await pause(300);
      // No worker takes new jobs: these wait for the next worker.
      const pending = askWhole(platform, { directives: 'tokens=2', text: 'Late' });
      const lateAudio = await queueAudio(platform, 'Queued while it stops');
      expect((await ended).code).toBe(0);
      await eventually(
        'its caller is told why it waits',
        async () => (await queuedReason(platform, lateAudio)) === 'no-worker',
      );
      expect(Date.now() - publishedAtMs).toBeLessThanOrEqual(exitWithinMs);

      const [shortStream, shortImage, shortSpeech] = await Promise.all(short);
      await shortStream.ended;
      expect([shortStream.isComplete, shortStream.tokens]).toEqual([true, 20]);
      expect([shortImage.status, shortSpeech.status]).toEqual([200, 200]);
      await longStream.ended;
      expect([longStream.errorCode, longStream.isComplete]).toEqual(['MODEL_AT_CAPACITY', false]);
      const [longImage, longSpeech] = await Promise.all(long);
      for (const answer of [longImage, longSpeech]) {
        expect(answer).toMatchObject({ status: 503, code: 'MODEL_AT_CAPACITY', retryAfter: expect.any(String) });
      }
      // The repeatable job is in the queue, and the next worker runs it.
      await platform.start('worker');
      const late = await pending;
      expect([late.status, late.errorCode]).toEqual([200, null]);
      for (const { requestId } of [audio, lateAudio]) {
        await eventually(
          'the audio is generated',
          async () => (await ledgerOf(platform, [requestId]))[0]?.state === 'succeeded',
        );
      }
      await platform.closedJobs(30_000);
      for (const one of [shortStream, shortImage, shortSpeech, audio, late, lateAudio]) {
        expect((await ledgerFor(platform, one))[0]).toMatchObject({ ...paid, attempt: 1 });
      }
      for (const one of [longImage, longSpeech]) expect((await ledgerFor(platform, one))[0]).toMatchObject(refunded);
      const [streamed] = await ledgerFor(platform, longStream);
      expect(streamed).toMatchObject({ state: 'failed', errorCode: 'MODEL_AT_CAPACITY' });
    }, 120_000);
  },
);

function ledgerFor(platform: Platform, { requestId }: { requestId: string }): Promise<JobLedger[]> {
  return ledgerOf(platform, [requestId]);
}
