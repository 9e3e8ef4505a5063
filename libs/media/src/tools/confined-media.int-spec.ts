import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Sandbox } from '#platform/sandbox';
import { MediaTools, probeAudio } from '../index.js';

const recording = Buffer.from('fLaC, or so it says');

/** Programs in place of ffmpeg and ffprobe, which do what a manipulated file could make those do. */
describe.runIf(process.platform === 'linux')('a media tool that a file took over', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-confined-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Finds tools whose programs run a shell script instead of a task. */
  async function taken(name: string, script: string): Promise<MediaTools> {
    const text = `#!/bin/sh\n[ "$1" = -version ] && exit 0\n${script}\n`;
    for (const tool of ['ffmpeg', 'ffprobe']) {
      await writeFile(join(folder, `${tool}-${name}`), text);
      await chmod(join(folder, `${tool}-${name}`), 0o755);
    }
    return await MediaTools.find({ ffmpeg: join(folder, `ffmpeg-${name}`), bundled: null, temporaryFolder: folder });
  }

  it('writes no file', async () => {
    const path = join(folder, 'written');
    const tools = await taken('writes', `echo x > ${path}`);
    await expect(probeAudio(tools, recording, { maxSeconds: 60 })).rejects.toMatchObject({
      code: 'INVALID_AUDIO_FORMAT',
    });
    expect(await readFile(path, 'utf8')).toBe('');
  });

  it('reaches no service of this machine', async (context) => {
    if (!(await Sandbox.find()).hasNetworkNamespace) return context.skip();
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const connect = `require("net").connect(${port}, "127.0.0.1").on("error", () => 0)`;
    const script = `exec ${process.execPath} -e '${connect}'`;
    const tools = await taken('connects', script);
    await expect(probeAudio(tools, recording, { maxSeconds: 60 })).rejects.toBeDefined();
    expect(connections).toBe(0);
    server.close();
  });

  it('is blamed on its file when it crashes', async () => {
    const tools = await taken('crashes', 'kill -SEGV $$');
    await expect(probeAudio(tools, recording, { maxSeconds: 60 })).rejects.toMatchObject({
      code: 'INVALID_AUDIO_FORMAT',
    });
  });
});
