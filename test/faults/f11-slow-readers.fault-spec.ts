import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { mebibyte } from '#common/values';
import { createArtifactStore, DownloadLinks } from '#storage';
import type { Platform } from '#test/platform';
import { askWhole } from './chat-caller.js';
import { amount, describeFault, pause } from './fault-scene.js';

/* F11: clients that read slowly or not at all. faults.e2e-spec.ts covers that an unread stream ends its job. */

/** Exceeds the system's socket buffers. */
const fileBytes = 24 * mebibyte;
const readers = amount({ full: 100, quick: 30 });
const stalledMs = 4_000;
const looks = 10;
const downloadsPerLink = 5;

/** Download links, as many as requested. */
async function linksFor(platform: Platform, count: number): Promise<string[]> {
  const artifacts = createArtifactStore({ home: platform.home });
  const links = new DownloadLinks(platform.secretKey);
  const made = Array.from({ length: Math.ceil(count / downloadsPerLink) }, async () => {
    const { id } = await artifacts.put(Buffer.alloc(fileBytes, 'x'), { kind: 'result', contentType: 'video/mp4' });
    return `/api/v1/media/${links.tokenFor(id)}`;
  });
  const paths = await Promise.all(made);
  await artifacts.close();
  return Array.from({ length: count }, (_, index) => paths[index % paths.length] ?? '');
}

/** A download whose reader controls when it reads. */
class SlowReader {
  bytes = 0;
  head = '';
  readonly closed: Promise<void>;

  private constructor(private readonly socket: Socket) {
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => undefined);
    socket.on('data', (part: Buffer) => {
      if (this.bytes === 0) this.head = part.toString('latin1', 0, 40);
      this.bytes += part.length;
    });
    socket.pause();
  }

  static async open(platform: Platform, path: string): Promise<SlowReader> {
    const socket = connect({ port: platform.port, host: '127.0.0.1' });
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    const reader = new SlowReader(socket);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    return reader;
  }

  /** Reads what has arrived, then nothing. */
  async readALittle(): Promise<void> {
    this.socket.resume();
    await pause(1);
    this.socket.pause();
  }

  /** Reads to the end if the other side has closed, after any buffered data. */
  readAvailable(): void {
    this.socket.resume();
  }
}

async function residentBytes(platform: Platform): Promise<number> {
  const status = await readFile(`/proc/${platform.pid('api')}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024;
}

describeFault('F11', { env: { SLUICE_STALLED_MS: String(stalledMs), SLUICE_SLOTS: '64' } }, (running) => {
  it(`${readers} readers that read nothing cost less than a mebibyte each, block nobody else, and are disconnected`, async () => {
    const platform = running();
    const [first = '', ...paths] = await linksFor(platform, readers + 1);
    // Warms up first, so that one-time allocations of a process are not measured.
    for (let look = 0; look < looks; look += 1) {
      await askWhole(platform, { directives: 'tokens=2', text: `warm ${look}` });
    }
    const quick = await SlowReader.open(platform, first);
    quick.readAvailable();
    await quick.closed;
    const before = await residentBytes(platform);
    const stalled = await Promise.all(paths.map((path) => SlowReader.open(platform, path)));
    let max = 0;
    for (let look = 0; look < looks; look += 1) {
      expect((await askWhole(platform, { directives: 'tokens=2', text: `other ${look}` })).status).toBe(200);
      max = Math.max(max, await residentBytes(platform));
    }
    expect((max - before) / readers).toBeLessThan(mebibyte);
    // Only the guard ends them: nobody reads, and no file fits into the buffers. It checks every `stalledMs` whether
    // anything was read since its last check.
    await pause(3 * stalledMs);
    for (const reader of stalled) reader.readAvailable();
    await Promise.all(stalled.map(({ closed }) => closed));
    for (const { head, bytes } of stalled) {
      expect(head).toContain('200 OK');
      expect(bytes).toBeLessThan(fileBytes);
    }
  }, 300_000);

  it('a reader that reads a little at intervals gets everything, however long that takes', async () => {
    const platform = running();
    const [path = ''] = await linksFor(platform, 1);
    const startedAt = performance.now();
    const reader = await SlowReader.open(platform, path);
    // A file takes longer than the stall limit, while each pause stays well below it.
    while (performance.now() - startedAt < 2 * stalledMs) {
      await reader.readALittle();
      await pause(stalledMs / 20);
    }
    reader.readAvailable();
    await reader.closed;
    expect(reader.head).toContain('200 OK');
    expect(reader.bytes).toBeGreaterThan(fileBytes);
  });
});
