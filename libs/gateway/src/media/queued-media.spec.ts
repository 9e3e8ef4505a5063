import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { describe, expect, it } from 'vitest';
import type { MediaJob } from '#jobs';
import { HttpExchange } from '#platform/http';
import { QueuedMedia } from './queued-media.js';

/** Neither limits nor models are asked for what is tested here. */
function mediaOn({
  pipeline = {},
  models = {},
  mediaJobs = {},
  artifacts = {},
  config = {},
  replicas = {},
}: Record<string, object>): QueuedMedia {
  const parts = [pipeline, models, mediaJobs, artifacts, config, replicas] as unknown as ConstructorParameters<
    typeof QueuedMedia
  >;
  return new QueuedMedia(...parts);
}

function setUp() {
  const stream = Readable.from([Buffer.from('video')], { objectMode: false });
  const disconnected: string[] = [];
  const record = { contentType: 'video/mp4', bytes: 4 };
  const queued = mediaOn({
    artifacts: { open: async () => ({ record, stream }), delete: async () => void disconnected.push('artifact') },
    mediaJobs: { markDeleted: async () => void disconnected.push('row') },
  });
  const job = { requestId: 'r', resultArtifacts: ['a'] } as unknown as MediaJob;
  const open = async () => (await queued.open({ job, deleteAfter: true })).getStream();
  return { stream, disconnected, open };
}

describe('a result that is sent and then deleted', () => {
  it('is deleted before its last byte is sent', async () => {
    const { disconnected, open } = setUp();
    const chunks: Buffer[] = [];
    for await (const chunk of await open()) chunks.push(chunk as Buffer);
    expect([Buffer.concat(chunks).toString(), disconnected]).toEqual(['video', ['row', 'artifact']]);
  });

  it('leaves no file open, and stays, when its client had disconnected before', async () => {
    const { stream, disconnected, open } = setUp();
    const body = await open();
    // As the server does with a response body whose connection is already closed.
    body.destroy();
    await expect.poll(() => stream.destroyed).toBe(true);
    expect(disconnected).toEqual([]);
  });
});

describe('a job that waits', () => {
  it.each([
    ['queued', 'absent', 'no-worker'],
    ['queued', 'loading', 'model-loading'],
    ['queued', 'ready', 'waiting-for-turn'],
    ['running', 'absent', undefined],
  ] as const)('says why: %s, its model %s', async (state, replicaState, reason) => {
    const headers: Record<string, unknown> = {};
    const request = { headers: {}, caller: { accountId: 'a' } };
    const reply = {
      header: (name: string, value: unknown) => void (headers[name] = value),
      headers: () => undefined,
    };
    const manifest = { id: 'm', name: 'M', type: 'music', tier: 'S' };
    const queued = mediaOn({
      pipeline: { limit: async () => undefined },
      models: { resolve: async () => ({ manifest, resolvedBy: 'id', deprecation: null }) },
      mediaJobs: {
        find: async () => ({ state, isDeleted: false, progressPercent: 0, runningMs: 0 }),
        expectedDurationMs: async () => null,
      },
      replicas: { stateOf: () => replicaState },
    });
    const http = new HttpExchange({ ...reply, request } as unknown as FastifyReply);
    const answer = await queued.retrieve(http, { model: 'm', queue_id: 'q' }, ['music']);
    expect(answer).toMatchObject({ status: 'PROCESSING' });
    expect(headers['x-service-queued-reason']).toBe(reason);
  });
});

describe('a failure', () => {
  it.each([
    [3_000, 2_000, 'INFERENCE_FAILED'],
    [3_000, 4_000, 'MEDIA_NOT_FOUND'],
    [200_000_000, 190_000_000, 'INFERENCE_FAILED'],
  ])('is told for as long as results are kept: %i ms, after %i ms', async (storageLifetimeMs, endedForMs, code) => {
    const job = { state: 'failed', isDeleted: false, resultArtifacts: [], error: null, endedForMs };
    const queued = mediaOn({ mediaJobs: { find: async () => job }, config: { storageLifetimeMs } });
    const key = { queueId: 'q', accountId: 'a', modelId: 'm' };
    await expect(queued.find(key)).rejects.toMatchObject({ code });
  });
});
