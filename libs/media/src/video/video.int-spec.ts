import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { encodeWholeAudio, MediaTools, probeVideo, readFrames, writeVideo } from '../index.js';

describe('video', () => {
  let tools: MediaTools;
  beforeAll(async () => {
    tools = await MediaTools.find();
  });

  function* frames(count: number, width: number, height: number) {
    for (let index = 0; index < count; index += 1) {
      const data = new Uint8Array(width * height * 3);
      for (let position = 0; position < data.length; position += 3) data[position] = (index * 8) % 256;
      yield data;
    }
  }

  it('keeps its frames, their rate and its sound', async () => {
    await tools.withFolder(async (folder) => {
      const path = join(folder, 'out.mp4');
      const audio = await encodeWholeAudio(tools, new Float32Array(16_000), { format: 'wav', sampleRate: 16_000 });
      const fps = { numerator: 24, denominator: 1 };
      expect(await writeVideo(tools, path, frames(30, 64, 48), { width: 64, height: 48, fps, audio })).toMatchObject({
        frames: 30,
      });
      const limits = { maxSeconds: 10 };
      const probe = await probeVideo(tools, { path }, limits);
      expect(probe).toMatchObject({ width: 64, height: 48, fps, frames: 30, codec: 'h264', audio: { codec: 'aac' } });
      expect(probe.durationSeconds).toBeCloseTo(1.25, 1);
      const reds: number[] = [];
      for await (const frame of readFrames(tools, await readFile(path), { limits })) reds.push(frame.data[0] ?? 0);
      expect(reds).toHaveLength(30);
      for (const [index, red] of reds.entries()) expect(Math.abs(red - index * 8)).toBeLessThan(8);
    });
  });
});
