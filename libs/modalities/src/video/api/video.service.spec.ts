import 'reflect-metadata';
import type { FastifyReply } from 'fastify';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { DownloadUrls, type JobRunner, MediaArtifacts, RequestPipeline, StoreBudgets } from '#gateway';
import type { ApiConfig } from '#platform/config';
import { HttpExchange } from '#platform/http';
import { validateBody } from '#platform/validation';
import { exampleManifest } from '#test/example-manifest';
import type { Pricing } from '#model-registry/manifest';
import { testDouble } from '#test/test-double';
import { QueueVideoRequest, QuoteVideoRequest } from '../contract/video.request.js';
import { VideoService } from './video.service.js';

const families = {
  upscaler: { family: 'esrgan', kindMembers: { supported_inputs: ['video_url'] } },
  interpolator: { family: 'rife', kindMembers: { supported_inputs: ['image_url', 'end_image_url', 'video_url'] } },
  generator: { family: 'text-to-video-sd', kindMembers: {} },
} as const;

const source = { video_url: 'https://example.org/video.mp4' };
const price = { usd: 0.01, diem: 0.01 };
const defaultPricing = { per_second: price, upscale: { '2x': price } };

interface QuoteCircumstances {
  offline?: boolean;
  disabled?: boolean;
  limited?: boolean;
  pricing?: Pricing | null;
}

function manifestOf(kind: keyof typeof families, members: object = {}) {
  const constraints = {
    aspect_ratios: [],
    resolutions: kind === 'upscaler' ? [] : ['480p', '720p'],
    durations: ['5s', 'auto'],
    audio_configurable: true,
  };
  const { family, kindMembers } = families[kind];
  const own = { id: 'm', type: 'video' as const, family, kindMembers: { ...kindMembers, ...members }, constraints };
  return { ...exampleManifest(), ...own };
}

interface Circumstances {
  manifest: ReturnType<typeof manifestOf>;
  pricing: Pricing | null;
  offline?: boolean;
  disabled?: boolean;
  limited?: boolean;
  /** What happened: a request counted, a source fetched. */
  done?: string[];
  /** Lifetimes of the reserved results. */
  lifetimes?: (number | undefined)[];
}

/** Runs one request through the pipeline. Returns what was sent, or the error. */
async function run(
  { manifest, pricing, offline = false, disabled = false, limited = false, done = [], lifetimes = [] }: Circumstances,
  work: (videos: VideoService, http: Parameters<VideoService['quote']>[0]) => Promise<object>,
) {
  const config = { mediaDeadlineMs: 1_000, storageLifetimeMs: 5_000, publicUrl: 'https://example.org' } as ApiConfig;
  const resolved = {
    manifest,
    offline,
    resolvedBy: 'id',
    suffix: {},
    deprecation: null,
    disabled,
    runMemory: null,
  };
  const admitModel = () => {
    done.push('counted');
    const refusal = limited ? new PlatformError('RATE_LIMIT_EXCEEDED', 'Too many.') : null;
    return Promise.resolve({ headers: {}, refusal, tokens: 0, reservation: null });
  };
  const egress = {
    open: () => {
      done.push('fetched');
      return Promise.reject(new PlatformError('PAYLOAD_TOO_LARGE', 'Too large.', 'video_url'));
    },
  };
  const tools = { require: () => undefined } as never;
  const artifacts = {
    ofModel: (): never => artifacts,
    reserve: (_kind: string, lifetimeMs?: number) => `r${lifetimes.push(lifetimeMs)}`,
    delete: () => Promise.resolve(),
  } as never;
  const pipeline = new RequestPipeline(
    { resolve: () => Promise.resolve(resolved) } as never,
    { admitModel } as never,
    { current: () => Promise.resolve({ pricing }) } as never,
    { admit: () => Promise.resolve() } as unknown as JobRunner,
    new StoreBudgets({ storeTimeoutMs: 60_000 }),
    config,
    { enter: async () => ({ headers: {}, refusal: null, leave: () => undefined }) } as never,
    testDouble({ screen: () => Promise.resolve() }),
    testDouble({ isExpected: () => true }),
  );
  const links = { tokenFor: (id: string) => id };
  const media = new MediaArtifacts(artifacts, egress as never, tools);
  const videos = new VideoService(
    pipeline,
    media,
    tools,
    new DownloadUrls(testDouble(links), artifacts, config),
    config,
  );
  const reply = {
    request: { headers: {}, id: 'r', caller: { accountId: 'a' }, countsAsOpen: true },
    headers: () => reply,
    status: () => reply,
    raw: { destroyed: false, socket: null, once: () => reply.raw },
  } as unknown as FastifyReply;
  try {
    return await work(videos, new HttpExchange(reply));
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    return { code: error.code, param: error.param };
  }
}

/** Requests a quote. Returns it, or the code and field of the error, and what happened before. */
async function quote(
  kind: keyof typeof families,
  wire: object,
  { pricing = defaultPricing, ...more }: QuoteCircumstances = {},
) {
  const done: string[] = [];
  const body = { model: 'm', duration: 'auto', ...wire };
  const response = await run({ manifest: manifestOf(kind), pricing, done, ...more }, async (videos, http) =>
    videos.quote(http, validateBody(QuoteVideoRequest, body)),
  );
  return { ...response, done };
}

describe('a quote', () => {
  it('fetches a source after it counts as a job', async () => {
    const done = ['counted', 'fetched'];
    expect(await quote('upscaler', source)).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', done });
    expect(await quote('interpolator', source)).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', done });
  });

  it('fetches nothing beyond the limit or for a model that the operator took offline', async () => {
    const limited = await quote('upscaler', source, { limited: true });
    expect(limited).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', done: ['counted'] });
    const disabled = { offline: true, disabled: true };
    expect(await quote('upscaler', source, disabled)).toMatchObject({ code: 'MODEL_OFFLINE', done: [] });
  });

  it.each([
    ['generator', {}, 'video_url'],
    ['interpolator', { upscale_factor: 2 }, 'upscale_factor'],
    ['interpolator', { duration: '7s' }, 'duration'],
    ['upscaler', { upscale_factor: 4 }, 'upscale_factor'],
  ] as const)('fetches nothing for an invalid request: %s, %j', async (kind, more, param) => {
    expect(await quote(kind, { ...source, ...more })).toEqual({ code: 'INVALID_REQUEST', param, done: [] });
  });

  it('fetches and counts nothing if the length is given, also while the model is offline', async () => {
    const named = { ...source, reference_video_total_duration: 10 };
    expect(await quote('upscaler', named, { offline: true })).toEqual({ quote: 0.1, done: [] });
    expect(await quote('interpolator', named)).toEqual({ quote: 0.1, done: [] });
  });

  it('covers at most a day of source', async () => {
    const param = 'reference_video_total_duration';
    const named = (seconds: number) => quote('upscaler', { [param]: seconds });
    for (const seconds of [86_401, 1e306]) {
      expect(await named(seconds)).toEqual({ code: 'INVALID_REQUEST', param, done: [] });
    }
  });

  it('covers at most the source length that the model takes', async () => {
    const param = 'reference_video_total_duration';
    for (const kind of ['upscaler', 'interpolator'] as const) {
      expect(await quote(kind, { [param]: 300 })).toEqual({ quote: 3, done: [] });
      expect(await quote(kind, { [param]: 301 })).toEqual({ code: 'VIDEO_DURATION_TOO_LONG', param, done: [] });
    }
  });

  it('covers what a model without video input makes, whatever the request says about a source', async () => {
    const wire = { duration: '5s', reference_video_total_duration: 1 };
    expect(await quote('generator', wire)).toEqual({ quote: 0.05, done: [] });
  });

  it.each([
    ['interpolator', { ...source, resolution: '720p' }],
    ['interpolator', { reference_video_total_duration: 2, resolution: '720p' }],
    ['upscaler', { ...source, resolution: '720p' }],
  ] as const)('covers the size of the source: %s, %j', async (kind, wire) => {
    expect(await quote(kind, wire)).toEqual({ code: 'INVALID_REQUEST', param: 'resolution', done: [] });
  });

  it('fails if the model has prices but none for this unit', async () => {
    const pricing = { resolutions: { '720p': price } };
    const refused = (param: string) => ({ code: 'INVALID_REQUEST', param, done: [] });
    const made = (resolution: string) => quote('interpolator', { duration: '5s', resolution }, { pricing });
    expect(await made('720p')).toEqual({ quote: 0.05, done: [] });
    expect(await made('480p')).toEqual(refused('resolution'));
    expect(await quote('interpolator', source, { pricing })).toEqual(refused('video_url'));
    expect(await quote('upscaler', source, { pricing: { upscale: { '4x': price } } })).toEqual(
      refused('upscale_factor'),
    );
    for (const free of [null, {}]) {
      expect(await quote('interpolator', { duration: '5s' }, { pricing: free })).toEqual({ quote: 0, done: [] });
    }
  });
});

describe('a video that is delivered by link', () => {
  /** Queues one. Returns how long its result is reserved, and the code of an error. */
  async function queue(pricing: Pricing, availability: { offline?: boolean; disabled?: boolean } = {}) {
    const lifetimes: (number | undefined)[] = [];
    const manifest = manifestOf('generator', { private_delivery: true });
    const body = { model: 'm', duration: '5s', resolution: '480p', prompt: 'A boat.' };
    const response = await run({ manifest, pricing, lifetimes, ...availability }, async (videos, http) =>
      videos.queue(http, validateBody(QueueVideoRequest, body)),
    );
    return { response, lifetimes };
  }

  it('keeps its full retention if the job ends at its deadline', async () => {
    const { response, lifetimes } = await queue({ per_second: price });
    expect(response).toMatchObject({ model: 'm', download_url: 'https://example.org/api/v1/media/r1' });
    expect(lifetimes).toEqual([6_000]);
  });

  it('is queued while no worker serves its model, unless the operator took it offline', async () => {
    const pricing = { per_second: price };
    const waiting = await queue(pricing, { offline: true });
    expect(waiting.response).toMatchObject({ model: 'm', queue_id: expect.any(String) });
    const { response } = await queue(pricing, { offline: true, disabled: true });
    expect(response).toMatchObject({ code: 'MODEL_OFFLINE' });
  });

  it('is rejected if its model has prices but none for this unit', async () => {
    const { response } = await queue({ resolutions: { '720p': price } });
    expect(response).toMatchObject({ code: 'INVALID_REQUEST', param: 'resolution' });
  });
});
