import { readFile } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import sharp from 'sharp';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { mebibyte } from '#common/values';
import { Sandbox } from '#platform/sandbox';
import { runSourceArguments, sourcePath } from '#test/source-program';
import { encodeImage } from '../encode-image.js';
import { DecoderLost } from './decoder-process.js';
import { ImageDecoder, type ImageDecoderOptions } from './image-decoder.js';

const program = {
  modulePath: sourcePath('libs/media/src/image/decoder/decode.main.ts'),
  nodeArguments: runSourceArguments,
};
const side = 32;
const size = { storedWidth: side, storedHeight: side, maxPixels: side * side };

async function image(colour: number): Promise<Buffer> {
  const data = new Uint8Array(side * side * 3).fill(colour);
  return await encodeImage({ width: side, height: side, channels: 3, data }, { format: 'png' });
}

const [width, height] = [5_300, 5_000];
const heavyRequest = { storedWidth: width, storedHeight: height, maxPixels: width * height, channels: 4 } as const;

/** All of an image that is turned is needed at once: here more than the library keeps in memory by default, 100 MB. */
async function heavyImage(): Promise<Buffer> {
  return await sharp({ create: { width, height, channels: 4, background: '#12345678' } })
    .withMetadata({ orientation: 6 })
    .webp({ lossless: true, effort: 0 })
    .toBuffer();
}

describe.runIf(process.platform === 'linux')('ImageDecoder', () => {
  let decoder: ImageDecoder;
  let heavy: Buffer;

  beforeAll(async () => {
    heavy = await heavyImage();
  });
  afterEach(() => decoder.close());

  /** With one process, so that every image meets it. */
  function open(options: ImageDecoderOptions = {}): ImageDecoder {
    decoder = new ImageDecoder({ program, processes: 1, ...options });
    return decoder;
  }

  async function colourIn(file: Buffer = Buffer.alloc(0)): Promise<number | undefined> {
    const { data } = await decoder.decode(file, { ...size, channels: 3 });
    return data[0];
  }

  async function colourOf(colour: number): Promise<number | undefined> {
    return await colourIn(await image(colour));
  }

  /** Starts an image in a decoder that stands still, and one that waits behind it. */
  async function heldUp(): Promise<{ pid: number; working: Promise<unknown>; waiting: Promise<number | undefined> }> {
    const [first, second, third] = await Promise.all([1, 2, 3].map(image));
    await colourIn(first);
    const pid = onlyProcess();
    process.kill(pid, 'SIGSTOP');
    const working = colourIn(second).catch((error: unknown) => error);
    const waiting = colourIn(third);
    // The task is written.
    await nextTurn();
    return { pid, working, waiting };
  }

  function onlyProcess(): number {
    expect(decoder.processIds).toHaveLength(1);
    return decoder.processIds[0] ?? 0;
  }

  /** What the kernel says about the process. */
  async function about(name: string): Promise<string> {
    return await readFile(`/proc/${onlyProcess()}/${name}`, 'latin1');
  }

  function end(pid: number, signal: NodeJS.Signals): void {
    process.kill(pid, signal);
    process.kill(pid, 'SIGCONT');
  }

  it('starts a process with the first image, and keeps it for others', async () => {
    open();
    expect(decoder.processIds).toEqual([]);
    expect(await colourOf(7)).toBe(7);
    const pid = onlyProcess();
    expect(await Promise.all([8, 9, 10].map(colourOf))).toEqual([8, 9, 10]);
    expect(onlyProcess()).toBe(pid);
  });

  it('ends a process that has no images', async () => {
    open({ idleMs: 1 });
    await colourOf(1);
    await expect.poll(() => decoder.processIds).toEqual([]);
    expect(await colourOf(2)).toBe(2);
  });

  it('decodes several images at once in several processes', async () => {
    open({ processes: 2 });
    expect(await Promise.all([1, 2, 3, 4, 5].map(colourOf))).toEqual([1, 2, 3, 4, 5]);
    expect(decoder.processIds).toHaveLength(2);
  });

  it('takes the images of accounts in turns', async () => {
    open();
    const ended: string[] = [];
    const decode = async (owner: string, name: string): Promise<void> => {
      await decoder.decode(await image(7), { ...size, channels: 3, owner });
      ended.push(name);
    };
    const many = Array.from({ length: 4 }, (_, index) => decode('a', `a${index}`));
    await Promise.all([...many, decode('b', 'b0')]);
    // One image of the first account is being decoded, and at most one more is taken before that of the other.
    expect(ended.indexOf('b0')).toBeLessThanOrEqual(2);
  });

  it('confines the process', async (context) => {
    open();
    await colourOf(1);
    const limits = await about('limits');
    const soft = (name: string): string | undefined => new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(limits)?.[1];
    expect(soft('Max file size')).toBe('0');
    expect(soft('Max data size')).toBe(String(1_536 * mebibyte));
    expect(soft('Max cpu time')).toBe('90');
    expect(await about('environ')).not.toMatch(/HOME|SLUICE|DATABASE/);
    if (!(await Sandbox.find()).hasNetworkNamespace) return context.skip();
    const interfaces = (await about('net/dev')).split('\n').slice(2).filter(Boolean);
    expect(interfaces.map((line) => line.split(':')[0]?.trim())).toEqual(['lo']);
  });

  it.each(['SIGSEGV', 'SIGABRT'] as const)(
    'refuses an image that ends its process by %s, and decodes the next one',
    async (signal) => {
      open();
      const { pid, working, waiting } = await heldUp();
      end(pid, signal);
      expect(await working).toMatchObject({ name: 'DecodeFault', message: 'is damaged or cut off' });
      expect(await waiting).toBe(3);
      expect(onlyProcess()).not.toBe(pid);
    },
  );

  it('decodes an image again whose process was killed from outside', async () => {
    open();
    const { pid, working, waiting } = await heldUp();
    process.kill(pid, 'SIGKILL');
    expect(await working).toBe(2);
    expect(await waiting).toBe(3);
  });

  it('refuses an image that is never done, and decodes the next one', async () => {
    open({ limits: { timeoutMs: 5_000 } });
    const { pid, working, waiting } = await heldUp();
    expect(await working).toMatchObject({ name: 'DecodeFault', message: 'takes too long to read' });
    expect(await waiting).toBe(3);
    expect(onlyProcess()).not.toBe(pid);
  });

  it('refuses an image that uses up its processor time', async () => {
    open();
    const { pid, working, waiting } = await heldUp();
    end(pid, 'SIGXCPU');
    expect(await working).toMatchObject({ name: 'DecodeFault', message: 'takes too long to read' });
    expect(await waiting).toBe(3);
  });

  it('replaces a process after its share of images, so that a file in control of it sees no more', async () => {
    open({ limits: { maxImages: 2 } });
    const processes = new Set<number>();
    for (const colour of [1, 2, 3, 4, 5]) {
      expect(await colourOf(colour)).toBe(colour);
      for (const id of decoder.processIds) processes.add(id);
    }
    // The second image of a process is its last one, which leaves none behind.
    expect(processes.size).toBe(3);
  });

  it('replaces a process whose processor time is used up', async () => {
    open({ limits: { cpuSeconds: 0.001 } });
    await colourOf(1);
    expect(decoder.processIds).toEqual([]);
    expect(await colourOf(2)).toBe(2);
  });

  it('decodes the largest images in memory, without a file', async () => {
    open({ limits: { timeoutMs: 120_000 } });
    const { data, ...facts } = await decoder.decode(heavy, heavyRequest);
    expect(facts).toMatchObject({ width: height, height: width, hasAlpha: true });
    expect([...data.subarray(-4)]).toEqual([0x12, 0x34, 0x56, 0x78]);
  });

  it('refuses an image that needs too much memory, and decodes the next one', async () => {
    open();
    await colourOf(1);
    const [, pages = ''] = (await about('statm')).split(' ');
    decoder.close();
    // A little more than small images take.
    open({ limits: { maxResidentBytes: Number(pages) * 4_096 + 32 * mebibyte } });
    const refused = decoder.decode(heavy, heavyRequest).catch((error: unknown) => error);
    const light = colourOf(4);
    expect(await refused).toMatchObject({ name: 'DecodeFault', message: 'needs too much memory to read' });
    expect(await light).toBe(4);
  });

  it('refuses an image for which the kernel gives no memory', async () => {
    open();
    await colourOf(1);
    const used = Number(/^VmData:\s+(\d+) kB/m.exec(await about('status'))?.[1]) * 1_024;
    decoder.close();
    open({ limits: { memoryBytes: used + 64 * mebibyte } });
    const refused = decoder.decode(heavy, heavyRequest).catch((error: unknown) => error);
    expect(await refused).toMatchObject({ name: 'DecodeFault' });
    expect(await colourOf(4)).toBe(4);
  });

  it('blames no image for a decoder that does not start', async () => {
    open({ program: { modulePath: '/no/such/decoder.js', nodeArguments: [] } });
    await expect(colourOf(1)).rejects.toBeInstanceOf(DecoderLost);
  });

  it('refuses a file of another size than its header said', async () => {
    open();
    const file = await image(1);
    const other = { ...size, storedWidth: side + 1, maxPixels: 2 * side * side };
    for (const channels of [null, 3] as const) {
      await expect(decoder.decode(file, { ...other, channels })).rejects.toMatchObject({ name: 'DecodeFault' });
    }
    expect(await colourOf(2)).toBe(2);
  });
});
