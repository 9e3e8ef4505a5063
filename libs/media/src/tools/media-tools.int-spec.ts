import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { bundledOnly } from '#test/media-engines';
import { encodeWholeAudio, MediaTools } from '../index.js';
import { ToolProcess } from './tool-process.js';

const { bundled } = bundledOnly;

describe('the choice of an ffmpeg', () => {
  let folder: string;
  let path: string | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-choice-'));
    path = process.env.PATH;
    process.env.PATH = folder;
  });
  afterEach(async () => {
    process.env.PATH = path;
    vi.restoreAllMocks();
    await rm(folder, { recursive: true, force: true });
  });

  async function installed(version: string, into = folder): Promise<string> {
    await mkdir(into, { recursive: true });
    const script = `#!/bin/sh\necho "ffmpeg version ${version} Copyright (c) its authors"\n`;
    for (const name of ['ffmpeg', 'ffprobe']) await writeFile(join(into, name), script, { mode: 0o755 });
    return join(into, 'ffmpeg');
  }

  const temporaryFolder = (): string => join(folder, 'temporary');

  it('is the packaged one where the machine has none', async () => {
    const tools = await MediaTools.find({ bundled, temporaryFolder: temporaryFolder() });
    expect(tools.description).toMatch(/^bundled ffmpeg 8\.\d+$/);
    expect(tools.missing).toBeNull();
    const mp3 = await encodeWholeAudio(tools, new Float32Array(24_000), { format: 'mp3', sampleRate: 24_000 });
    expect(mp3.length).toBeGreaterThan(10_000);
  });

  it.each([
    ['5.1.8-0+deb12u1', 'bundled ffmpeg 8.1'],
    ['8.1', 'bundled ffmpeg 8.1'],
    ['8.2.1', 'ffmpeg 8.2.1'],
    ['n9.0', 'ffmpeg n9.0'],
    ['N-110-nightly', 'bundled ffmpeg 8.1'],
  ])('compares releases: %s on the PATH gives %s', async (version, chosen) => {
    await installed(version);
    const tools = await MediaTools.find({ bundled, temporaryFolder: temporaryFolder() });
    expect(tools.description).toBe(chosen);
  });

  it('is the one that the operator names, whatever its release', async () => {
    const ffmpeg = await installed('4.4', join(folder, 'named'));
    const tools = await MediaTools.find({ ffmpeg, bundled, temporaryFolder: temporaryFolder() });
    expect(tools.description).toBe(`${ffmpeg} 4.4`);
  });

  it('finds what is installed later, and forgets what is gone', async () => {
    const warn = vi.fn();
    const tools = await MediaTools.find({ bundled: null, temporaryFolder: temporaryFolder(), warn });
    expect(tools.available).toBe(false);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('apt-get install -y ffmpeg'));
    await expect(tools.require()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await installed('7.1');
    let nowMs = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
    await expect(tools.require()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    nowMs += 2_001;
    expect((await tools.require()).version).toBe('7.1');
    await rm(join(folder, 'ffmpeg'));
    const song = encodeWholeAudio(tools, new Float32Array(10), { format: 'mp3', sampleRate: 24_000 });
    await expect(song).rejects.toMatchObject({ message: 'The media could not be written at the moment.' });
    await expect(tools.require()).rejects.toMatchObject({ message: expect.stringContaining('no ffmpeg') as string });
  });
});

describe.runIf(process.platform === 'linux')('a tool that takes too much memory', () => {
  it('is ended, which says so', async () => {
    const hungry = 'const kept = []; setInterval(() => kept.push(Buffer.alloc(20_000_000, 1)), 5)';
    const tool = new ToolProcess({
      program: process.execPath,
      args: ['-e', hungry],
      timeoutMs: 50_000,
      maxResidentBytes: 300_000_000,
    });
    await expect(tool.finished()).rejects.toMatchObject({ end: 'too-large' });
  });
});
