import { describe, expect, it } from 'vitest';
import type { TaskRequest, TaskResult, TaskRunner } from '#inference/host';
import type {
  ClassifyOutput,
  GenerateInput,
  GenerateOutput,
  InpaintInput,
  MatteOutput,
  ImageOutput,
  ReadTextOutput,
  RgbPixels,
  UpscaleInput,
} from '#inference/tasks';
import { decodeImage, encodeImage, type Pixels } from '#media';
import type { ReplyEvent, RunningJob } from '#queue';
import type { ArtifactStore } from '#storage';
import { exampleManifest } from '#test/example-manifest';
import { type ImageDescribedEvent, type ImageJobPayload, type ImageReadyEvent, plainImage } from '../contract/index.js';
import { ImageProcessor } from './image.processor.js';

type Answer = (request: TaskRequest, signal: AbortSignal) => object | null;

/** A scripted model host; null is a cancelled task. */
class ScriptedRunner implements TaskRunner {
  readonly requests: TaskRequest[] = [];

  constructor(private readonly answer: Answer) {}

  async runTask(request: TaskRequest, { signal }: { signal: AbortSignal }): Promise<TaskResult> {
    this.requests.push(request);
    const output = this.answer(request, signal);
    return { cancelled: output === null, output };
  }
}

const plain: ImageJobPayload = { ...plainImage('upscale', ['base'], 5), priceOfImage: 'upscale.2x' };

/** Four by two: the left half opaque red, the right half transparent. */
const half: Pixels = {
  width: 4,
  height: 2,
  channels: 4,
  data: Uint8Array.from({ length: 32 }, (_, index) => {
    const column = Math.floor(index / 4) % 4;
    return [200, 10, 10, column < 2 ? 255 : 0][index % 4] ?? 0;
  }),
};

const doubled: Answer = ({ input }): ImageOutput => {
  const { image } = input as UpscaleInput;
  const { width, height } = image;
  return { image: { width: width * 2, height: height * 2, data: new Uint8Array(width * height * 12).fill(90) } };
};

async function process(
  changes: Partial<ImageJobPayload>,
  answer: Answer,
  {
    family = 'esrgan',
    familyOptions = {},
    safetyClassifier = null,
    inputs = { base: half },
  }: {
    family?: string;
    familyOptions?: Record<string, number>;
    /** Any helper of the model. */
    safetyClassifier?: TaskRunner | null;
    inputs?: Record<string, Pixels>;
  } = {},
) {
  const stored = new Map<string, Buffer>();
  for (const [name, pixels] of Object.entries(inputs)) stored.set(name, await encodeImage(pixels, { format: 'png' }));
  const artifacts = {
    read: async (id: string) => ({ record: {}, bytes: stored.get(id) ?? expect.fail(`no artifact ${id}`) }),
    put: async (bytes: Buffer) => {
      const id = `result-${stored.size}`;
      stored.set(id, bytes);
      return { id };
    },
  } as unknown as ArtifactStore;
  const events: ReplyEvent[] = [];
  const abort = new AbortController();
  const runner = new ScriptedRunner((request, signal) => {
    const output = answer(request, signal);
    if (output === null) abort.abort();
    return output;
  });
  const job = {
    envelope: { requestId: 'r', payload: { ...plain, ...changes } },
    signal: abort.signal,
    replies: { send: (...sent: ReplyEvent[]) => void events.push(...sent) },
  } as unknown as RunningJob<ImageJobPayload>;
  const manifest = exampleManifest({ family, familyOptions });
  const report = await new ImageProcessor({ runner, manifest, artifacts, helper: () => safetyClassifier }).process(job);
  // The images of a batch are ready in any order; the API orders them by index.
  const images = await Promise.all(
    (events as ImageReadyEvent[])
      .filter(({ type }) => type === 'image-ready')
      .toSorted((left, right) => left.index - right.index)
      .map(({ artifactId }) => decodeImage(stored.get(artifactId) ?? expect.fail('nothing stored'), { channels: 4 })),
  );
  return { report, events: events as ImageReadyEvent[], images, requests: runner.requests };
}

const firstInput = (requests: readonly TaskRequest[]): object =>
  (requests[0] ?? expect.fail('the registry received no request')).input;

describe('the image processor', () => {
  it('upscales colors and alpha of an image, and reports its charge', async () => {
    const { report, images, requests } = await process({}, doubled);
    expect(images[0]).toMatchObject({ width: 8, height: 4 });
    expect(report).toMatchObject({ cancelled: false, usage: { promptTokens: 0, units: { 'upscale.2x': 1 } } });
    const { image, scale } = firstInput(requests) as UpscaleInput;
    expect(scale).toBe(2);
    expect([...image.data.subarray(0, 3)]).toEqual([200, 10, 10]);
    expect([...image.data.subarray(9, 12)]).toEqual([200, 10, 10]);
  });

  it('cuts out with the matte, and keeps transparent pixels transparent', async () => {
    const matte: MatteOutput = { width: 4, height: 2, alpha: Uint8Array.of(0, 255, 255, 255, 128, 255, 255, 255) };
    const { images } = await process({ operation: 'remove-background', priceOfImage: 'inpaint' }, () => matte, {
      family: 'u2net',
    });
    const alpha = [...(images[0]?.data ?? [])].filter((_, index) => index % 4 === 3);
    expect(alpha).toEqual([0, 255, 0, 0, 128, 255, 0, 0]);
  });

  describe('with a model that turns images into text', () => {
    const describing: Partial<ImageJobPayload> = {
      operation: 'describe',
      inputs: ['base', 'base'],
      seeds: [],
      priceOfImage: 'per_image',
    };
    const described = async (answer: Answer, family: string) => {
      const { report, events, requests } = await process(describing, answer, { family });
      return { report, events: events as unknown as ImageDescribedEvent[], requests };
    };
    const corners = [] as unknown as ReadTextOutput['lines'][number]['corners'];
    const lines = (...texts: string[]): ReadTextOutput => ({
      lines: texts.map((text) => ({ text, score: 1, corners })),
    });

    it('sends a text per image and reports how many', async () => {
      const { report, events, requests } = await described(() => lines('Stop', 'Here'), 'pp-ocr');
      expect(events.map(({ type, index, text }) => [type, index, text])).toEqual([
        ['image-described', 0, 'Text:\nStop\nHere'],
        ['image-described', 1, 'Text:\nStop\nHere'],
      ]);
      expect(report).toMatchObject({ cancelled: false, usage: { units: { per_image: 2 } } });
      expect(requests.map(({ task }) => task)).toEqual(['read-text', 'read-text']);
      const { image } = firstInput(requests) as { image: RgbPixels };
      expect([image.width, image.height, ...image.data.subarray(9, 12)]).toEqual([4, 2, 255, 255, 255]);
    });

    it('counts objects of a kind, cuts off long texts, and says nothing where nothing is', async () => {
      const objects = ['dog', 'person', 'dog'].map((label) => ({
        label,
        score: 1,
        left: 0,
        top: 0,
        right: 1,
        bottom: 1,
      }));
      const seen = await described(() => ({ objects }), 'coco-ssd');
      expect(seen.events[0]?.text).toBe('Objects: dog (2), person');
      expect((await described(() => ({ objects: [] }), 'coco-ssd')).events[0]?.text).toBe('');
      expect((await described(() => lines(), 'pp-ocr')).events[0]?.text).toBe('');
      const long = await described(() => lines('x'.repeat(9_000)), 'pp-ocr');
      expect(long.events[0]?.text).toHaveLength(4_000 + 'Text:\n'.length);
      expect(long.events[0]?.text).toMatch(/x \[…\]$/);
    });

    it('charges the finished images of a cancelled job', async () => {
      let asked = 0;
      const { report, events } = await described(() => (asked++ === 0 ? lines('Stop') : null), 'pp-ocr');
      expect(events).toHaveLength(1);
      expect(report).toMatchObject({ cancelled: true, usage: { units: { per_image: 1 } } });
    });

    it('refuses a family that describes nothing', async () => {
      await expect(described(() => lines(), 'esrgan')).rejects.toMatchObject({ code: 'INVALID_MODEL' });
    });
  });

  const filled: Answer = ({ input }): ImageOutput => ({ image: (input as InpaintInput).image });
  const edit = { operation: 'edit', priceOfImage: 'inpaint' } as const;

  it('fills the transparent part', async () => {
    const { requests } = await process(edit, filled, { family: 'migan' });
    expect([...(firstInput(requests) as InpaintInput).mask]).toEqual([0, 0, 1, 1, 0, 0, 1, 1]);
  });

  it('redraws an image with a text-to-image model: fitted to its size, with the given strength', async () => {
    const options = { ...edit, prompt: 'a bird', width: 8, height: 8, steps: 12, strength: 0.4, seeds: [9] };
    const drawn: Answer = ({ input }): GenerateOutput => ({ images: [(input as GenerateInput).image as RgbPixels] });
    const { requests, images } = await process(options, drawn, { family: 'stable-diffusion' });
    expect(requests.map(({ task }) => task)).toEqual(['generate']);
    expect(firstInput(requests)).toMatchObject({
      prompt: 'a bird',
      width: 8,
      height: 8,
      steps: 12,
      strength: 0.4,
      seeds: [9],
      mask: null,
    });
    expect(firstInput(requests)).toMatchObject({ image: { width: 8, height: 8 } });
    expect(images[0]).toMatchObject({ width: 8, height: 8 });
  });

  it('fills what a second image shows in white, at the size of the first', async () => {
    const mask: Pixels = { width: 2, height: 1, channels: 3, data: Uint8Array.of(255, 255, 255, 0, 0, 0) };
    const { requests } = await process({ ...edit, inputs: ['base', 'mask'] }, filled, {
      family: 'migan',
      inputs: { base: half, mask },
    });
    expect([...(firstInput(requests) as InpaintInput).mask]).toEqual([1, 1, 0, 0, 1, 1, 0, 0]);
  });

  it('explains what to send when nothing is to be filled', async () => {
    const whole: Pixels = { ...half, data: half.data.map((sample, index) => (index % 4 === 3 ? 255 : sample)) };
    await expect(process(edit, filled, { family: 'migan', inputs: { base: whole } })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('multi-edit') as string,
    });
  });

  /** A model of one size: two by two pixels, and an upscaler that fills with the factor. */
  const drawn = { width: 2, height: 2, upscaler: 'enlarger' };
  const twos: Answer = ({ input }): GenerateOutput => ({
    images: (input as GenerateInput).seeds.map((seed) => ({
      width: 2,
      height: 2,
      data: new Uint8Array(12).fill(seed),
    })),
  });
  const enlarger = () =>
    new ScriptedRunner(({ input }): ImageOutput => {
      const { image, scale } = input as UpscaleInput;
      const [width, height] = [image.width * scale, image.height * scale];
      return { image: { width, height, data: new Uint8Array(width * height * 3).fill(image.data[0] ?? 0) } };
    });
  const sized = {
    operation: 'generate',
    inputs: [],
    drawn,
    priceOfImage: 'generation',
    width: 16,
    height: 16,
  } as const;
  const upscaled = { ...sized, inputs: [], unitsPerImage: { 'upscale.4x': 1, 'upscale.2x': 1 } };

  it('draws its own size in batches, has each image upscaled, and charges for it', async () => {
    const upscaler = enlarger();
    const { report, requests, images } = await process({ ...upscaled, seeds: [3, 4, 5] }, twos, {
      family: 'stable-diffusion',
      familyOptions: { batch: 2 },
      safetyClassifier: upscaler,
    });
    expect(requests.map(({ input }) => input)).toMatchObject([
      { seeds: [3, 4], width: 2, height: 2 },
      { seeds: [5], width: 2, height: 2 },
    ]);
    expect(upscaler.requests.slice(0, 2).map(({ input }) => (input as UpscaleInput).scale)).toEqual([4, 2]);
    expect(images.map(({ width, data }) => [width, data[0]])).toEqual([
      [16, 3],
      [16, 4],
      [16, 5],
    ]);
    expect(report.usage?.units).toEqual({ generation: 3, 'upscale.4x': 3, 'upscale.2x': 3 });
  });

  it('stores what a model of any size draws as it is', async () => {
    const { drawn: _, ...any } = sized;
    const { images } = await process({ ...any, inputs: [], seeds: [3] }, twos, { family: 'stable-diffusion' });
    expect(images[0]).toMatchObject({ width: 2, height: 2 });
  });

  it('refuses a model of one size while its upscaler is not loaded', async () => {
    const run = process({ ...upscaled, seeds: [3] }, twos, { family: 'stable-diffusion' });
    await expect(run).rejects.toMatchObject({
      code: 'MODEL_OFFLINE',
      message: expect.stringContaining('enlarger') as string,
    });
  });

  it('regenerates what a mask selects, beside white where the shape differs, and keeps all other pixels', async () => {
    const mask: Pixels = { width: 4, height: 2, channels: 4, data: new Uint8Array(32).fill(255) };
    // Transparent in the first column.
    for (const row of [0, 1]) mask.data[row * 16 + 3] = 0;
    const payload = { ...edit, drawn: { width: 4, height: 4, upscaler: 'enlarger' }, width: 4, height: 2 } as const;
    const black: Answer = () =>
      ({ images: [{ width: 4, height: 4, data: new Uint8Array(48) }] }) satisfies GenerateOutput;
    const { requests, images } = await process({ ...payload, inputs: ['base', 'mask'], mask: 'transparent' }, black, {
      family: 'stable-diffusion',
      inputs: { base: half, mask },
      safetyClassifier: enlarger(),
    });
    const input = firstInput(requests) as GenerateInput;
    expect([...(input.mask ?? [])].map((value, index) => (value === 0 ? -1 : index)).filter((at) => at >= 0)).toEqual([
      4, 8,
    ]);
    expect([...(input.image?.data.subarray(0, 3) ?? [])]).toEqual([255, 255, 255]);
    const pixels = [0, 1, 2, 3].map((column) => [...(images[0]?.data.subarray(column * 4, column * 4 + 4) ?? [])]);
    const [red, hidden] = [
      [200, 10, 10, 255],
      [200, 10, 10, 0],
    ];
    expect(pixels).toEqual([[0, 0, 0, 255], red, hidden, hidden]);
  });

  it('generates one image per seed, and charges the finished ones when it is cancelled', async () => {
    const payload = {
      operation: 'generate',
      width: 2,
      height: 2,
      inputs: [],
      seeds: [3, 4, 5],
      priceOfImage: 'generation',
    } as const;
    const extraUnits = { 'prompt-enhancement': 1 };
    const made: GenerateOutput = { images: [{ width: 2, height: 2, data: new Uint8Array(12) }] };
    const options = { family: 'stable-diffusion', inputs: {} };
    const all = await process({ ...payload, seeds: [...payload.seeds], inputs: [], extraUnits }, () => made, options);
    expect(all.events.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(all.requests.map(({ input }) => (input as GenerateInput).seeds)).toEqual([[3], [4], [5]]);
    expect(all.report.usage?.units).toEqual({ generation: 3, 'prompt-enhancement': 1 });

    let calls = 0;
    const some = await process(
      { ...payload, seeds: [...payload.seeds], inputs: [], extraUnits },
      () => (++calls === 3 ? null : made),
      options,
    );
    expect(some.report).toMatchObject({
      cancelled: true,
      usage: { units: { generation: 2, 'prompt-enhancement': 1 } },
    });
    const none = await process({ ...payload, seeds: [...payload.seeds], inputs: [], extraUnits }, () => null, options);
    expect(none.report).toMatchObject({ cancelled: true, usage: { units: {} } });
  });

  const judging = (porn: number) => new ScriptedRunner((): ClassifyOutput => ({ scores: { porn, neutral: 1 - porn } }));
  /** Black and white columns, which a blur removes. */
  const striped: Answer = () => ({
    image: {
      width: 64,
      height: 8,
      data: Uint8Array.from({ length: 64 * 8 * 3 }, (_, i) => (Math.floor(i / 3) % 2) * 255),
    },
  });

  it('blurs adult content in safe mode, and nothing else', async () => {
    // Away from the edges, which a blur repeats.
    const contrast = ({ data }: Pixels) => {
      const reds = [...data].filter((_, i) => i % 4 === 0 && Math.abs(((i / 4) % 64) - 32) < 12);
      return Math.max(...reds) - Math.min(...reds);
    };
    const seen = await process({ safeMode: true }, striped, { safetyClassifier: judging(0.9) });
    expect(seen.events[0]?.blurred).toBe(true);
    expect(contrast(seen.images[0] ?? half)).toBeLessThan(60);
    const harmless = await process({ safeMode: true }, striped, { safetyClassifier: judging(0.2) });
    expect(harmless.events[0]?.blurred).toBe(false);
    expect(contrast(harmless.images[0] ?? half)).toBe(255);
    const unsafe = await process({ safeMode: false }, striped, { safetyClassifier: judging(0.9) });
    expect(unsafe.events[0]?.blurred).toBe(false);
  });

  it('releases no unchecked image in safe mode', async () => {
    await expect(process({ safeMode: true }, striped)).rejects.toMatchObject({
      code: 'MODEL_OFFLINE',
      param: 'safe_mode',
    });
  });
});
