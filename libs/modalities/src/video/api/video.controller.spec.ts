import 'reflect-metadata';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { InferenceServices } from '#jobs/api';
import { exampleManifest } from '#test/example-manifest';
import { VideoController } from './video.controller.js';

const families = {
  upscaler: { family: 'esrgan', kindMembers: { supported_inputs: ['video_url'] } },
  interpolator: { family: 'rife', kindMembers: { supported_inputs: ['image_url', 'end_image_url', 'video_url'] } },
  generator: { family: 'text-to-video-sd', kindMembers: {} },
} as const;

const source = { video_url: 'https://example.org/film.mp4' };
const reply = {
  headers: () => reply,
  raw: { destroyed: false, socket: null, once: () => reply.raw },
} as unknown as FastifyReply;

/** Asks for a quote; answers it, or the code and the field of what is wrong, and what had been done until then. */
async function quote(
  kind: keyof typeof families,
  wire: object,
  { offline = false, limited = false }: { offline?: boolean; limited?: boolean } = {},
) {
  const done: string[] = [];
  const constraints = { aspect_ratios: [], resolutions: [], durations: ['5s', 'auto'], audio_configurable: true };
  const { family, kindMembers } = families[kind];
  const manifest = { ...exampleManifest(), ...{ id: 'm', type: 'video' as const, family, kindMembers, constraints } };
  const price = { usd: 0.01, diem: 0.01 };
  const services = {
    settings: { mediaDeadlineMs: 1_000 },
    resolve: () =>
      Promise.resolve({ manifest, offline, resolvedBy: 'id', suffix: {}, deprecation: null, disabled: false }),
    price: () => Promise.resolve({ pricing: { per_second: price, upscale: { '2x': price } } }),
    limit: () => {
      done.push('counted');
      return limited ? Promise.reject(new PlatformError('RATE_LIMIT_EXCEEDED', 'Too many.')) : Promise.resolve({});
    },
    media: { require: () => undefined },
    egress: {
      open: () => {
        done.push('fetched');
        return Promise.reject(new PlatformError('PAYLOAD_TOO_LARGE', 'Too large.', 'video_url'));
      },
    },
  } as unknown as InferenceServices;
  const body = { model: 'm', duration: 'auto', ...wire };
  const request = { body, headers: {}, id: 'r', caller: null } as unknown as FastifyRequest;
  const answer = await new VideoController(services).quote(request, reply).catch((error: unknown) => {
    if (!(error instanceof PlatformError)) throw error;
    return { code: error.code, param: error.param };
  });
  return { ...answer, done };
}

describe('a quote', () => {
  it('fetches a source once it counts as a job', async () => {
    const done = ['counted', 'fetched'];
    expect(await quote('upscaler', source)).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', done });
    expect(await quote('interpolator', source)).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', done });
  });

  it('fetches nothing beyond the limit, and nothing for a model that is offline', async () => {
    const limited = await quote('upscaler', source, { limited: true });
    expect(limited).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', done: ['counted'] });
    expect(await quote('upscaler', source, { offline: true })).toMatchObject({ code: 'MODEL_OFFLINE', done: [] });
  });

  it.each([
    ['generator', {}, 'video_url'],
    ['interpolator', { upscale_factor: 2 }, 'upscale_factor'],
    ['interpolator', { duration: '7s' }, 'duration'],
    ['upscaler', { upscale_factor: 4 }, 'upscale_factor'],
  ] as const)('fetches nothing for a request that is refused: %s, %j', async (kind, more, param) => {
    expect(await quote(kind, { ...source, ...more })).toEqual({ code: 'INVALID_REQUEST', param, done: [] });
  });

  it('of a length that is named fetches and counts nothing, also while the model is offline', async () => {
    const named = { ...source, reference_video_total_duration: 10 };
    expect(await quote('upscaler', named, { offline: true })).toEqual({ quote: 0.1, done: [] });
    expect(await quote('interpolator', named)).toEqual({ quote: 0.1, done: [] });
  });

  it('is for a day of source at most', async () => {
    const named = (seconds: number) => quote('upscaler', { reference_video_total_duration: seconds });
    expect(await named(86_400)).toEqual({ quote: 864, done: [] });
    for (const seconds of [86_401, 1e306]) {
      const param = 'reference_video_total_duration';
      expect(await named(seconds)).toEqual({ code: 'INVALID_REQUEST', param, done: [] });
    }
  });
});
