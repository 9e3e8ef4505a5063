import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sha256, WeightsServer } from '#test/weights-server';
import { openDiskWriter } from './file-writer.js';
import { type DownloadRequest, downloadResumable } from './resumable-download.js';
import { openWebRange } from './web-request.js';

const content = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7 + (index >> 8)) & 255));

let folder: string;
let server: WeightsServer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-download-'));
  server = await WeightsServer.start();
  server.addFile('/weights.bin', content);
});

afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

function download(changes: Partial<DownloadRequest> = {}): Promise<void> {
  const url = new URL(`${server.url}/weights.bin`);
  return downloadResumable({
    open: (offset, validator) => openWebRange({ url, signal: changes.signal }, offset, validator),
    target: join(folder, 'weights.bin'),
    name: 'weights.bin',
    expected: { bytes: content.length, sha256: sha256(content) },
    maxBytes: 1e9,
    openWriter: openDiskWriter,
    onProgress: () => undefined,
    backoffMs: 1,
    ...changes,
  });
}

const downloaded = () => readFile(join(folder, 'weights.bin'));
const leftovers = async () => (await readdir(folder)).sort();
const ranges = () => server.requestsOf('/weights.bin').map(({ range }) => range);

describe('downloadResumable', () => {
  it('leaves only the file', async () => {
    await download();
    expect((await downloaded()).equals(content)).toBe(true);
    expect(await leftovers()).toEqual(['weights.bin']);
  });

  it('resumes where a broken connection stopped', async () => {
    server.cuts.set('/weights.bin', [100_000, 50_000]);
    await download();
    expect((await downloaded()).equals(content)).toBe(true);
    expect(ranges()).toEqual([
      null,
      expect.stringMatching(/^bytes=[1-9]\d*-$/),
      expect.stringMatching(/^bytes=[1-9]\d*-$/),
    ]);
  });

  it('starts again if the server cannot resume', async () => {
    server.supportsRanges = false;
    server.cuts.set('/weights.bin', [100_000]);
    await download();
    expect((await downloaded()).equals(content)).toBe(true);
  });

  it('resumes the part of an earlier process, after hashing it', async () => {
    await writeFile(join(folder, 'weights.bin.part'), content.subarray(0, 120_000));
    const stages = new Set<string>();
    await download({ onProgress: (stage) => stages.add(stage) });
    expect((await downloaded()).equals(content)).toBe(true);
    expect(ranges()).toEqual(['bytes=120000-']);
    expect([...stages]).toEqual(['verify', 'download']);
  });

  it('sends no request if the part is already complete', async () => {
    await writeFile(join(folder, 'weights.bin.part'), content);
    await download();
    expect(ranges()).toEqual([]);
    expect(await leftovers()).toEqual(['weights.bin']);
  });

  it.each(['strong', 'weak', 'none'] as const)(
    'never joins two versions of a file: %s validators',
    async (validators) => {
      server.validators = validators;
      server.cuts.set('/weights.bin', [100_000]);
      const other = Buffer.from(content).reverse();
      // The first try breaks, and the file changes before the second.
      const open = download({ attempts: 1, expected: {} });
      await expect(open).rejects.toThrow();
      server.addFile('/weights.bin', other);
      await download({ expected: {} });
      expect((await downloaded()).equals(other)).toBe(true);
    },
  );

  it('resumes by the date if the ETag is weak', async () => {
    server.validators = 'weak';
    server.cuts.set('/weights.bin', [100_000]);
    await download({ expected: {} });
    expect((await downloaded()).equals(content)).toBe(true);
    expect(ranges()).toEqual([null, expect.stringMatching(/^bytes=[1-9]\d*-$/)]);
  });

  it('resumes without a validator only if a hash is checked', async () => {
    server.validators = 'none';
    server.cuts.set('/weights.bin', [100_000]);
    await download({ expected: {} });
    expect(ranges()).toEqual([null, null]);
    await rm(join(folder, 'weights.bin'));
    server.cuts.set('/weights.bin', [100_000]);
    await download();
    expect(ranges().slice(2)).toEqual([null, expect.stringMatching(/^bytes=[1-9]\d*-$/)]);
    expect((await downloaded()).equals(content)).toBe(true);
  });

  it('starts again if the part is longer than the file', async () => {
    await writeFile(join(folder, 'weights.bin.part'), Buffer.alloc(content.length + 10));
    await download({ expected: { sha256: sha256(content) } });
    expect((await downloaded()).equals(content)).toBe(true);
  });

  it('rejects different content and keeps none of it', async () => {
    const wrong = sha256(Buffer.from('else'));
    await expect(download({ expected: { sha256: wrong } })).rejects.toMatchObject({
      code: 'MODEL_PULL_FAILED',
      message: expect.stringContaining(`the sha256 ${sha256(content)}; ${wrong} was expected`),
    });
    expect(await leftovers()).toEqual([]);
  });

  it('rejects a wrong size and a wrong integrity', async () => {
    await expect(download({ expected: { bytes: content.length + 1 } })).rejects.toThrow(
      /300000 bytes; 300001 were expected/,
    );
    await expect(download({ expected: { integrity: 'sha512-AAAA' } })).rejects.toThrow(/does not match its integrity/);
    expect(await leftovers()).toEqual([]);
  });

  it('stops at the first byte over the limit', async () => {
    await expect(download({ expected: {}, maxBytes: 1_000 })).rejects.toThrow(/300000 bytes; 1000 are allowed/);
    expect(await leftovers()).toEqual([]);
  });

  it('retries after a temporary error, and fails immediately for a missing file', async () => {
    server.statuses.set('/weights.bin', [503, 429]);
    await download();
    expect(server.requestsOf('/weights.bin')).toHaveLength(3);

    const url = new URL(`${server.url}/gone.bin`);
    const open = (offset: number) => openWebRange({ url }, offset, null);
    await expect(download({ open, target: join(folder, 'gone.bin') })).rejects.toThrow(/does not exist \(404\)/);
    expect(server.requestsOf('/gone.bin')).toHaveLength(1);
  });

  it('gives up after tries without a single byte, and keeps its part', async () => {
    server.cuts.set('/weights.bin', [100_000]);
    server.statuses.set('/weights.bin', []);
    const broken = download({ attempts: 1 });
    await expect(broken).rejects.toMatchObject({ code: 'MODEL_PULL_FAILED' });
    expect(await leftovers()).toContain('weights.bin.part');
  });

  it('gives up after tries from the beginning that make no progress', async () => {
    // Alternates between a part that is discarded and one that is slightly longer.
    const reached = [10, 5, 9, 5, 9, 5, 9, 5, 9];
    let tries = 0;
    const open: DownloadRequest['open'] = () => {
      const length = reached[tries++] ?? content.length;
      async function* body() {
        yield content.subarray(0, length);
        if (length < content.length) throw new Error('the connection broke');
      }
      return Promise.resolve({ offset: 0, totalBytes: content.length, validator: null, body: body() });
    };
    await expect(download({ open, attempts: 4 })).rejects.toThrow('the connection broke');
    expect(tries).toBe(4);
  });

  it('keeps its part when it is stopped, and resumes the next time', async () => {
    const stop = new AbortController();
    const stopped = download({
      signal: stop.signal,
      onProgress: (stage, done) => void (stage === 'download' && done > 50_000 && stop.abort(new Error('stopped'))),
    });
    await expect(stopped).rejects.toThrow('stopped');
    expect(existsSync(join(folder, 'weights.bin.part'))).toBe(true);
    await download();
    expect((await downloaded()).equals(content)).toBe(true);
    expect(ranges()[1]).toMatch(/^bytes=[1-9]\d*-$/);
  });

  it('removes its part when the disk is full', async () => {
    const openWriter: DownloadRequest['openWriter'] = async (path, flags) => {
      const writer = await openDiskWriter(path, flags);
      let remaining = 100_000;
      return {
        write: (chunk) => {
          remaining -= chunk.length;
          if (remaining < 0)
            return Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }));
          return writer.write(chunk);
        },
        close: () => writer.close(),
      };
    };
    await expect(download({ openWriter })).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(await leftovers()).toEqual([]);
  });

  it('yields the exact content wherever connections break', async () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(cuts, fc.boolean(), async (lengths, resumes) => {
        const small = content.subarray(0, 1_000);
        const target = join(folder, `property-${Math.random()}`);
        const left = [...lengths];
        const open: DownloadRequest['open'] = (offset) => {
          const start = resumes ? offset : 0;
          const length = left.shift();
          async function* body() {
            yield small.subarray(start, length === undefined ? undefined : start + length);
            if (length !== undefined && start + length < small.length) throw new Error('the connection broke');
          }
          return Promise.resolve({ offset: start, totalBytes: small.length, validator: null, body: body() });
        };
        await download({ open, target, expected: { sha256: sha256(small) }, backoffMs: 0, attempts: 20 });
        expect((await readFile(target)).equals(small)).toBe(true);
      }),
      { numRuns: 40 },
    );
  });
});

describe('openWebRange', () => {
  it('sends the token only to the first host', async () => {
    const storage = await WeightsServer.start();
    server.storage = storage;
    server.hubToken = 'secret';
    server.addRepository('owner/model', 'a'.repeat(40), { 'model.onnx': content });
    const url = new URL(`${server.url}/owner/model/resolve/${'a'.repeat(40)}/model.onnx`);
    const response = await openWebRange({ url, headers: { authorization: 'Bearer secret' } }, 10, null);
    expect(response).toMatchObject({ offset: 10, totalBytes: content.length });
    for await (const chunk of response.body) expect(chunk.length).toBeGreaterThan(0);
    expect(storage.seen).toMatchObject([{ authorization: null, range: 'bytes=10-' }]);
    await storage.close();
  });

  it('rejects plain http to other machines', async () => {
    const url = new URL('http://weights.example.org/model.onnx');
    await expect(openWebRange({ url }, 0, null)).rejects.toThrow(/over https only/);
  });
});
