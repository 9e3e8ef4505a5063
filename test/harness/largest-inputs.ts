import { expect, it } from 'vitest';
import { mebibyte } from '#common/values';
import { encodeImage } from '#media';
import { measurePeak } from './measure-peak.js';
import type { ServedPlatform } from './served-platform.js';

/** The largest input that a route accepts. */
export interface LargestInput {
  /** The family and the limit. */
  family: string;
  /** The model whose host is measured. */
  model: string;
  path: string;
  /** The largest accepted body, and one that is a little larger. */
  bodies(): Promise<[largest: object, larger: object]>;
  refusal: { status: number; message: RegExp };
  /** Most that the host takes for it beside its weights, in MB: the measured peak and room for noise. */
  maxPeak: number;
  /** The same for the worker, where it holds the input in parts. */
  maxWorkerPeak?: number;
}

/** Tests that each input is processed within its memory, and that a larger one is refused. */
export function testLargestInputs(inputs: readonly LargestInput[], served: ServedPlatform): void {
  it.each(inputs)(
    'of $family is processed, and a larger one refused',
    async ({ model, path, bodies, refusal, maxPeak, maxWorkerPeak = Infinity }) => {
      const { platform } = served;
      const [largest, larger] = await bodies();
      const pid = platform.hostPid(model);
      let workerBytes = 0;
      const hostBytes = await measurePeak(pid, async () => {
        workerBytes = await measurePeak(platform.pid('worker'), async () => {
          const response = await postUntilAdmitted(served, path, largest);
          const text = Buffer.from(await response.arrayBuffer()).toString('latin1');
          expect(response.status, `${text.slice(0, 400)}\n${platform.log()}`).toBe(200);
          await finish(served, { path, model, text });
        });
      });
      process.stdout.write(`${model}: ${megabytes(hostBytes)} MB, worker ${megabytes(workerBytes)} MB\n`);
      expect(hostBytes / mebibyte).toBeLessThan(maxPeak);
      expect(workerBytes / mebibyte).toBeLessThan(maxWorkerPeak);
      const refused = await served.post(path, larger);
      expect([refused.status, await refused.text()]).toEqual([refusal.status, expect.stringMatching(refusal.message)]);
      // The host is still the one that served it.
      expect(platform.hostPid(model)).toBe(pid);
    },
    600_000,
  );
}

function megabytes(bytes: number): number {
  return Math.round(bytes / mebibyte);
}

/** The response to a request, repeated as clients do while a busy machine keeps the stores from answering in time. */
async function postUntilAdmitted(served: ServedPlatform, path: string, body: object): Promise<Response> {
  let response = new Response();
  const send = async (): Promise<number> => (response = await served.post(path, body)).status;
  await expect.poll(send, { timeout: 300_000, interval: 1_000 }).not.toBe(503);
  return response;
}

/** Waits for a queued job; other responses are complete. */
async function finish(
  served: ServedPlatform,
  { path, model, text }: { path: string; model: string; text: string },
): Promise<void> {
  if (!path.endsWith('/queue')) return;
  const { queue_id } = JSON.parse(text) as { queue_id: string };
  const read = async (): Promise<string | null> => {
    const response = await served.post(path.replace('queue', 'retrieve'), { model, queue_id });
    const bytes = Buffer.from(await response.arrayBuffer());
    const isResult = response.headers.get('content-type')?.startsWith('audio/') === true;
    return isResult ? `${response.status}` : `${response.status} ${bytes.toString('utf8', 0, 200)}`;
  };
  await expect.poll(read, { timeout: 120_000, interval: 200 }).toBe('200');
}

/** The same body twice: with a PNG image in base64 of the largest size, and of one column more. */
export async function bodiesWithImages(
  [width, height]: [number, number],
  bodyWith: (image: string) => object,
  grey = 90,
): Promise<[object, object]> {
  return [bodyWith(await greyPng(width, height, grey)), bodyWith(await greyPng(width + 1, height, grey))];
}

async function greyPng(width: number, height: number, grey: number): Promise<string> {
  const data = new Uint8Array(width * height * 3).fill(grey);
  return (await encodeImage({ width, height, channels: 3, data }, { format: 'png' })).toString('base64');
}

/** A question about an image in a chat. */
export function chatAbout(model: string, image: string): object {
  const url = `data:image/png;base64,${image}`;
  const content = [
    { type: 'image_url', image_url: { url } },
    { type: 'text', text: 'What?' },
  ];
  return { model, messages: [{ role: 'user', content }], max_completion_tokens: 2 };
}

/** Words without a full stop, cut to a number of characters. */
export function endlessSentence(characters: number): string {
  return 'and the river ran past the old mill to the sea '.repeat(characters / 40).slice(0, characters);
}

/** A form of a transcription. */
export function recordingForm(model: string, recording: Buffer): FormData {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(recording)]), 'recording.flac');
  form.append('model', model);
  return form;
}
