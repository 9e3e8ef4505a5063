import { EventEmitter } from 'node:events';
import type { FastifyReply } from 'fastify';
import { describe, expect, it } from 'vitest';
import { ReservationRefused } from '#billing';
import { noTokens, PlatformError } from '#common';
import type { OpenRequest } from '#jobs';
import type { ModelType } from '#model-registry/manifest';
import { HttpExchange } from '#platform/http';
import { exampleManifest } from '#test/example-manifest';
import { testDouble } from '#test/test-double';
import { type ModelName, RequestPipeline } from './request-pipeline.js';
import { StoreBudgets } from '../request/store-budgets.js';

interface Scene {
  offline?: boolean;
  /** The operator took the model offline. */
  disabled?: boolean;
  /** A worker will serve it by itself. */
  expected?: boolean;
  /** Its worker is being replaced. */
  mayWait?: boolean;
  /** Models by type; every other name is unknown. */
  known?: Partial<Record<ModelType, string[]>>;
  limitRefusal?: PlatformError;
  /** What the content policy says; undefined: nothing. */
  policyRefusal?: PlatformError;
  /** The result of each admission; null admits. */
  refusals?: (PlatformError | null)[];
}

function pipelineOn({
  offline = false,
  disabled = false,
  expected = true,
  mayWait = false,
  known = { text: ['m', 'default'] },
  limitRefusal,
  policyRefusal,
  refusals = [],
}: Scene = {}) {
  const steps: string[] = [];
  const admitted: OpenRequest[] = [];
  const resolve = async (name: string, type: ModelType) => {
    steps.push(`resolve ${type} ${name}`);
    if (known[type]?.includes(name) !== true) throw new PlatformError('MODEL_NOT_FOUND', 'No.', 'model');
    return {
      manifest: { ...exampleManifest({ id: name }), type },
      offline,
      disabled,
      resolvedBy: 'id',
      deprecation: null,
    };
  };
  const admitModel = async () => {
    steps.push('limit');
    return {
      headers: { 'x-ratelimit-limit-requests': '1' },
      refusal: limitRefusal ?? null,
      tokens: 5,
      reservation: null,
    };
  };
  const current = async () => (steps.push('price'), { id: 1n, modelId: 'm', pricing: null });
  const admit = async (request: OpenRequest) => {
    const refusal = refusals[admitted.length] ?? null;
    admitted.push(request);
    steps.push('admit');
    if (refusal !== null) throw refusal;
  };
  const pipeline = new RequestPipeline(
    { resolve } as never,
    { admitModel } as never,
    { current } as never,
    { admit, mayWait: () => mayWait } as never,
    new StoreBudgets({ storeTimeoutMs: 60_000 }),
    testDouble({ keepAliveMs: 1_000, stalledMs: 1_000 }),
    { enter: async () => ({ headers: {}, refusal: null, leave: () => undefined }) } as never,
    testDouble({
      screen: async ({ modality }: { modality: string }) => {
        steps.push(`screen ${modality}`);
        if (policyRefusal !== undefined) throw policyRefusal;
      },
    }),
    testDouble({ isExpected: () => expected }),
  );
  return { pipeline, steps, admitted };
}

function exchangeOf() {
  const headers: Record<string, unknown> = {};
  const reply = {
    request: { id: 'r', headers: {}, caller: { accountId: 'a' } },
    raw: Object.assign(new EventEmitter(), { destroyed: false }),
    headers: (more: object) => (Object.assign(headers, more), reply),
  };
  return { http: new HttpExchange(reply as unknown as FastifyReply), headers };
}

const definition = { modality: 'chat', policy: { deadlineMs: 1_000 } } as never;
const media = { delivery: 'inline', inputArtifacts: [] } as const;

/** Takes a request through the pipeline and queues a job. */
async function queue(scene: Scene, name: ModelName = { name: 'm', type: 'text' }, shrink?: () => never) {
  const { pipeline, steps, admitted } = pipelineOn(scene);
  const { http, headers } = exchangeOf();
  const run = async (): Promise<string> => {
    const limited = await (await pipeline.open(http, name)).limit();
    const jobSpec = { definition, payload: { size: 2 }, bounds: noTokens, amountNano: 20n, ...(shrink && { shrink }) };
    return await limited.queue(jobSpec, media);
  };
  const ended = await run().then(
    (queueId) => (expect(queueId).toEqual(expect.any(String)), null),
    (error: PlatformError) => error.code,
  );
  return { ended, steps, admitted, headers };
}

describe('a request', () => {
  it('passes every stage in order and returns the id of its job', async () => {
    const { ended, steps, admitted, headers } = await queue({});
    expect(ended).toBeNull();
    expect(steps).toEqual(['resolve text m', 'limit', 'price', 'screen chat', 'admit']);
    expect(admitted[0]).toMatchObject({ requestId: 'r', modelId: 'm', payload: { size: 2 }, replyTo: null, media });
    expect(headers).toMatchObject({ 'x-service-model-id': 'm', 'x-ratelimit-limit-requests': '1' });
  });

  it('is not admitted if the content policy refuses its texts', async () => {
    const policyRefusal = new PlatformError('CONTENT_POLICY_VIOLATION', 'No.', 'prompt');
    expect(await queue({ policyRefusal })).toMatchObject({ ended: 'CONTENT_POLICY_VIOLATION', admitted: [] });
  });

  it('waits for a worker that is being replaced, and not for a model that the operator took offline', async () => {
    expect(await queue({ offline: true, mayWait: true })).toMatchObject({ ended: null, admitted: [{ modelId: 'm' }] });
    const disabled = await queue({ offline: true, disabled: true, mayWait: true });
    expect(disabled).toMatchObject({ ended: 'MODEL_OFFLINE', admitted: [] });
  });

  it('is not admitted beyond its limits or for a model that no worker serves', async () => {
    const limitRefusal = new PlatformError('RATE_LIMIT_EXCEEDED', 'Too many.');
    expect(await queue({ limitRefusal })).toMatchObject({ ended: 'RATE_LIMIT_EXCEEDED', admitted: [] });
    const offline = await queue({ offline: true });
    expect(offline).toMatchObject({ ended: 'MODEL_OFFLINE', steps: ['resolve text m'] });
  });

  it('uses the default model without a name, and for an unknown name if allowed', async () => {
    expect((await queue({}, { name: undefined, type: 'text' })).steps[0]).toBe('resolve text default');
    expect(await queue({}, { name: 'gpt', type: 'text' })).toMatchObject({ ended: 'MODEL_NOT_FOUND' });
    const lenient = await queue({}, { name: 'gpt', type: 'text', unknownIsDefault: true });
    expect(lenient.steps.slice(0, 2)).toEqual(['resolve text gpt', 'resolve text default']);
    expect(lenient.ended).toBeNull();
  });

  it('finds its model among several types', async () => {
    const { ended, steps } = await queue({ known: { tts: ['voice'] } }, { name: 'voice', type: ['music', 'tts'] });
    expect([ended, ...steps.slice(0, 2)]).toEqual([null, 'resolve music voice', 'resolve tts voice']);
  });

  it('is reduced until the balance covers it', async () => {
    const refused = new ReservationRefused({
      result: 'insufficient_balance',
      askedNano: 20n,
      grantableNano: 10n,
      key: null,
    });
    const shrink = (grantableNano: bigint) => ({ payload: { size: 1 }, bounds: noTokens, amountNano: grantableNano });
    const { ended, admitted } = await queue({ refusals: [refused] }, undefined, shrink as never);
    expect(ended).toBeNull();
    expect(admitted.map(({ payload }) => payload)).toEqual([{ size: 2 }, { size: 1 }]);
    expect(await queue({ refusals: [refused] })).toMatchObject({ ended: 'INSUFFICIENT_BALANCE' });
  });
});

describe('an input job', () => {
  const input = { id: 'ears', type: 'asr', param: 'messages[0].content[1]', position: 2 } as const;

  it('has an id, limits and a reservation of its own, and leaves the headers of the request alone', async () => {
    const { pipeline, steps, admitted } = pipelineOn({ known: { asr: ['ears'] } });
    const { http, headers } = exchangeOf();
    const limited = await (await pipeline.openInput(http, input)).limit();
    await limited.queue({ definition, payload: {}, bounds: noTokens, amountNano: 20n }, media);
    expect(steps).toEqual(['resolve asr ears', 'limit', 'price', 'screen chat', 'admit']);
    expect(admitted[0]).toMatchObject({ requestId: 'r.2', modelId: 'ears' });
    expect(headers).toEqual({});
  });

  it('sets the headers of a limit that refuses it', async () => {
    const limitRefusal = new PlatformError('RATE_LIMIT_EXCEEDED', 'Too many.');
    const { pipeline, admitted } = pipelineOn({ known: { asr: ['ears'] }, limitRefusal });
    const { http, headers } = exchangeOf();
    const opened = await pipeline.openInput(http, input);
    await expect(opened.limit()).rejects.toBe(limitRefusal);
    expect(headers).toEqual({ 'x-ratelimit-limit-requests': '1' });
    expect(admitted).toEqual([]);
  });

  const known = { asr: ['ears'] };
  it.each([
    [{ known: {} }, 'INVALID_REQUEST'],
    [{ known, offline: true, expected: false }, 'INVALID_REQUEST'],
    [{ known, offline: true, disabled: true }, 'INVALID_REQUEST'],
    [{ known, offline: true }, 'MODEL_OFFLINE'],
  ] as const)('whose model is not served is a 503 only while a worker is to serve it: %j', async (scene, code) => {
    const { pipeline } = pipelineOn(scene as never);
    const opened = pipeline.openInput(exchangeOf().http, input);
    await expect(opened.then((request) => request.requireServed())).rejects.toMatchObject({
      code,
      param: 'messages[0].content[1]',
      message: expect.stringMatching(/^(?=.*\bears\b)(?!.*sluice )/) as string,
    });
  });

  it.each([
    [{ known: {} }, 'never'],
    [{ known: { text: ['ears'] }, offline: true, expected: false }, 'never'],
    [{ known: { text: ['ears'] }, offline: true, disabled: true }, 'never'],
  ] as const)('that checks an input says that no retry helps without its model: %j', async (scene, retry) => {
    const { pipeline } = pipelineOn(scene as never);
    const check = { id: 'ears', type: 'text', param: 'messages' } as const;
    const opened = pipeline.openCheck(exchangeOf().http, check);
    await expect(opened.then((request) => request.requireServed())).rejects.toMatchObject({
      code: 'MODEL_OFFLINE',
      retry,
    });
  });
});
