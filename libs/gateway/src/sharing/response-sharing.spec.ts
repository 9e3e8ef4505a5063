import { fastify, type FastifyInstance } from 'fastify';
import { beforeEach, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { RequestCaller } from '#platform/http';
import { addResponseSharing, addSharedSending } from './response-sharing.js';

const operator: RequestCaller = {
  accountId: 'operators',
  apiKeyId: 'first',
  kind: 'ADMIN',
  tier: 'default',
  modelPrivacy: 'ALL',
  betaAccess: false,
  isOperator: true,
};
const admin: RequestCaller = { ...operator, accountId: 'tenant' };
delete admin.isOperator;
const inference: RequestCaller = { ...admin, kind: 'INFERENCE' };

const callers = {
  operator,
  'other key of operator': { ...operator, apiKeyId: 'second' },
  'former operator': { ...admin, accountId: 'operators' },
  admin,
  'other admin': { ...admin, accountId: 'other' },
  inference,
  'other inference': { ...inference, apiKeyId: 'second' },
};

let server: FastifyInstance;
/** Texts that handlers returned. */
let built: string[];

beforeEach(async () => {
  built = [];
  server = fastify();
  server.decorateRequest('caller', null);
  server.addHook('onRequest', async (request) => {
    const name = request.headers['x-caller'] as keyof typeof callers | 'ended session';
    if (name === 'ended session') throw new PlatformError('AUTHENTICATION_FAILED', 'The session has ended.');
    request.caller = callers[name];
  });
  addResponseSharing(server);
  addSharedSending(server);
  const build = async () => ({ text: `body ${built.push('') - 1}` });
  server.get('/shared', { config: { shared: true } }, build);
  server.get('/own', build);
  server.get('/failing', { config: { shared: true } }, async (_request, reply) =>
    reply.status(503).send(await build()),
  );
  await server.ready();
});

async function ask(caller: string, { url = '/shared', cacheControl = 'max-age=4' } = {}) {
  const { body, headers, statusCode } = await server.inject({
    url,
    headers: { 'x-caller': caller, 'cache-control': cacheControl },
  });
  return { text: (JSON.parse(body) as { text?: string }).text, age: headers['age'], statusCode, headers };
}

describe('a response of a shared route', () => {
  it('is built once for all who may see the same and accept its age', async () => {
    const first = await ask('operator');
    expect(first).toMatchObject({ text: 'body 0', age: undefined });
    const second = await ask('other key of operator');
    expect(second).toMatchObject({ text: 'body 0', age: '0' });
    expect(second.headers['content-type']).toBe(first.headers['content-type']);
    expect(built).toHaveLength(1);
  });

  it('is new for a client that accepts no age, and then for the others', async () => {
    await ask('admin');
    expect(await ask('admin', { cacheControl: 'no-cache' })).toMatchObject({ text: 'body 1', age: undefined });
    expect(await ask('admin')).toMatchObject({ text: 'body 1', age: '0' });
  });

  it.each([
    ['operator', 'former operator'],
    ['operator', 'admin'],
    ['admin', 'other admin'],
    ['admin', 'inference'],
    ['inference', 'other inference'],
  ])('of %s is not that of %s', async (one, other) => {
    expect(await ask(one)).toMatchObject({ text: 'body 0' });
    expect(await ask(other)).toMatchObject({ text: 'body 1', age: undefined });
  });

  it('is of one query', async () => {
    await ask('admin', { url: '/shared?scope=account' });
    expect(await ask('admin', { url: '/shared?scope=installation' })).toMatchObject({ text: 'body 1' });
  });

  it('is nothing to a session that has ended', async () => {
    await ask('admin');
    expect(await ask('ended session')).toMatchObject({ text: undefined, age: undefined });
    expect(built).toHaveLength(1);
  });

  it('that failed is for its own client only', async () => {
    await ask('admin', { url: '/failing' });
    expect(await ask('admin', { url: '/failing' })).toMatchObject({ text: 'body 1', statusCode: 503 });
  });
});

it('a response of another route is never shared', async () => {
  await ask('admin', { url: '/own' });
  expect(await ask('admin', { url: '/own' })).toMatchObject({ text: 'body 1', age: undefined });
});
