import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createDeflate, deflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BombTask, BombReport } from '#test/bomb-gauge';
import { runSourceArguments, sourcePath } from '#test/source-program';
import { writeWavHeader } from './audio/wav-header.js';

const megabyte = 1_000_000;

/** Compresses zeros without ever holding them in memory. */
async function packedZeros(bytes: number): Promise<Buffer> {
  const packer = createDeflate({ level: 9 });
  const parts: Buffer[] = [];
  packer.on('data', (part: Buffer) => parts.push(part));
  const piece = Buffer.alloc(megabyte);
  for (let left = bytes; left > 0; left -= piece.length) {
    if (!packer.write(left < piece.length ? piece.subarray(0, left) : piece)) await once(packer, 'drain');
  }
  packer.end();
  await once(packer, 'end');
  return Buffer.concat(parts);
}

/** CRC of a PNG chunk. */
function crc(bytes: Buffer): number {
  let value = 0xffffffff;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit += 1) value = (value >>> 1) ^ ((value & 1) * 0xedb88320);
  }
  return ~value >>> 0;
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const frame = Buffer.alloc(body.length + 8);
  frame.writeUInt32BE(data.length);
  frame.set(body, 4);
  frame.writeUInt32BE(crc(body), body.length + 4);
  return frame;
}

function png({ width, height, bits }: { width: number; height: number; bits: number }, ...chunks: Buffer[]): Buffer {
  const size = Buffer.alloc(13);
  size.writeUInt32BE(width);
  size.writeUInt32BE(height, 4);
  size.set([bits, 0, 0, 0, 0], 8);
  const magic = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([magic, chunk('IHDR', size), ...chunks, chunk('IEND', Buffer.alloc(0))]);
}

describe('bombs', () => {
  let folder: string;
  let child: ChildProcess;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-bombs-'));
    const script = sourcePath('test/harness/bomb-gauge.ts');
    child = fork(script, { execArgv: ['--expose-gc', ...runSourceArguments] });
    await once(child, 'message');
    // Loads the libraries first, because their memory is not part of the measurement.
    await gauge('image', png({ width: 8, height: 8, bits: 8 }, chunk('IDAT', deflateSync(Buffer.alloc(72)))));
  });
  afterAll(async () => {
    child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  async function gauge(kind: BombTask['kind'], bytes: Buffer): Promise<BombReport> {
    const path = join(folder, `${kind}-${bytes.length}`);
    await writeFile(path, bytes);
    child.send({ kind, path } satisfies BombTask);
    const [report] = (await once(child, 'message')) as [BombReport];
    return report;
  }

  async function expectHarmless(kind: BombTask['kind'], bytes: Buffer, code: string | null): Promise<void> {
    const { grownBytes, ...report } = await gauge(kind, bytes);
    expect(report).toMatchObject({ code });
    expect(grownBytes / megabyte).toBeLessThan(64);
  }

  it('of 50,000 × 50,000 pixels are rejected in bounded memory', async () => {
    const pixels = await packedZeros(50_000 * 6_251);
    await expectHarmless(
      'image',
      png({ width: 50_000, height: 50_000, bits: 1 }, chunk('IDAT', pixels)),
      'IMAGE_TOO_LARGE',
    );
  });

  it('in the metadata of an image are rejected in bounded memory', async () => {
    const zeros = await packedZeros(1_000 * megabyte);
    const pixels = chunk('IDAT', deflateSync(Buffer.alloc(72)));
    const named = Buffer.concat([Buffer.from('name\0\0', 'latin1'), zeros]);
    for (const name of ['iCCP', 'zTXt']) {
      const { grownBytes } = await gauge('image', png({ width: 8, height: 8, bits: 8 }, chunk(name, named), pixels));
      expect(grownBytes / megabyte, name).toBeLessThan(64);
    }
  });

  it('in vector graphics are rejected in bounded memory', async () => {
    const laughs = Array.from({ length: 20 }, (_, index) => `<!ENTITY l${index + 1} "${`&l${index};`.repeat(10)}">`);
    const svg = `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY l0 "ha">${laughs.join('')}]><svg>&l20;</svg>`;
    await expectHarmless('image', Buffer.from(svg), 'CORRUPTED_IMAGE');
  });

  it('that claim a day of audio are read in bounded memory, to the end of their bytes', async () => {
    const header = writeWavHeader({ sampleRate: 8_000, channels: 1, samples: 86_400 * 8_000 });
    await expectHarmless('audio', Buffer.concat([header, Buffer.alloc(1_000)]), null);
  });

  it('that claim it in a compressed format are rejected in bounded memory', async () => {
    const path = join(folder, 'second.flac');
    const silence = ['-f', 'lavfi', '-i', 'anullsrc=r=8000:cl=mono', '-t', '1', '-c:a', 'flac', path];
    await promisify(execFile)('ffmpeg', ['-loglevel', 'error', ...silence]);
    const flac = await readFile(path);
    // Sample count: 36 bits from the middle of byte 21 on.
    flac.writeUInt32BE(86_400 * 8_000, 22);
    await expectHarmless('audio', flac, 'PAYLOAD_TOO_LARGE');
  });

  it('of base64 are rejected in bounded memory', async () => {
    await expectHarmless('base64', Buffer.alloc(100 * megabyte, 'A'), 'PAYLOAD_TOO_LARGE');
  });
});
