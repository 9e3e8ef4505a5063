import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import type { Platform } from '#test/platform';

export const run = promisify(execFile);
/** Options of ffmpeg. */
export const quiet = ['-hide_banner', '-loglevel', 'error', '-y'];

export const asDataUrl = async (path: string, type: string): Promise<string> =>
  `data:${type};base64,${(await readFile(path)).toString('base64')}`;

/** Queues a job, waits for it, and writes the video to `path`, which it returns. */
export async function makeVideo(platform: Platform, path: string, body: object): Promise<string> {
  const queued = await post(platform, '/video/queue', body);
  const { model, queue_id } = (await queued.json()) as { model: string; queue_id: string };
  expect(queued.status).toBe(200);
  const deadline = performance.now() + 300_000;
  for (;;) {
    const response = await post(platform, '/video/retrieve', { model, queue_id });
    if (response.headers.get('content-type') === 'video/mp4') {
      await writeFile(path, Buffer.from(await response.arrayBuffer()));
      return path;
    }
    const answer = (await response.json()) as { status?: string };
    if (answer.status !== 'PROCESSING' || performance.now() > deadline) throw new Error(JSON.stringify(answer));
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function post(platform: Platform, path: string, body: object): Promise<Response> {
  const headers = { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' };
  return await fetch(`${platform.baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

export async function probe(path: string) {
  const args = ['-v', 'error', '-count_frames', '-show_streams', '-of', 'json', path];
  const { streams } = JSON.parse((await run('ffprobe', args)).stdout) as {
    streams: { codec_type: string; codec_name: string; width?: number; height?: number; nb_read_frames: string }[];
  };
  return streams.map(({ codec_type, codec_name, width, height, nb_read_frames }) =>
    codec_type === 'video' ? { codec_name, width, height, frames: Number(nb_read_frames) } : { codec_name },
  );
}
