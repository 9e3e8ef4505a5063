import { setMaxListeners } from 'node:events';
import { request as httpRequest } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Platform, startPlatform } from '#test/platform';

/* Cross-cutting behaviour: headers, compression, documents, health, metrics, limits. */

let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform({ env: { SLUICE_QUEUE_LIMIT: '2' } });
});

afterAll(async () => {
  await platform?.stop();
});

interface RawResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** A request whose response stays compressed, unlike with `fetch`. */
async function ask(
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string; signal?: AbortSignal } = {},
): Promise<RawResponse> {
  const { method = 'GET', headers = {}, body, signal } = options;
  return await new Promise((resolve, reject) => {
    const call = httpRequest(
      `${platform.origin}${path}`,
      { method, headers, ...(signal && { signal }) },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }),
        );
      },
    );
    call.once('error', reject).end(body);
  });
}

async function chat(content: string, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<RawResponse> {
  return await ask('/api/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'tiny-llama', messages: [{ role: 'user', content }] }),
    ...(signal && { signal }),
  });
}

function only503(answer: RawResponse): RawResponse {
  if (answer.status !== 503) throw new Error(`answered ${answer.status}`);
  return answer;
}

describe('every response', () => {
  it.each([['/api/v1/models'], ['/health/live'], ['/nowhere'], ['/api/v1/%zz'], ['/docs'], ['/metrics']])(
    'from %s has its request id, build version and browser security headers',
    async (path) => {
      const { headers } = await ask(path);
      expect(headers['cf-ray']).toMatch(/^[0-9a-f]{16}-SLC$/);
      expect(headers['x-request-id']).toBe(headers['cf-ray']);
      expect(headers['x-service-timestamp']).toMatch(/^\d{4}-\d\d-\d\dT/);
      expect(headers['x-service-host-name'] !== undefined).toBe(['/nowhere', '/api/v1/%zz'].includes(path));
      expect(headers['x-service-version']).toMatch(/^\d{8}\.\d{6}$/);
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers.date).toBeDefined();
    },
  );

  it('has a unique id', async () => {
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => (await ask('/health/live')).headers['cf-ray']),
    );
    expect(new Set(ids).size).toBe(20);
  });
});

describe('compression', () => {
  it.each([
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ])('uses %s for large JSON that the client accepts', async (encoding, unpack) => {
    const { headers, body } = await chat('[[tokens=200]]', { 'accept-encoding': encoding });
    expect(headers['content-encoding']).toBe(encoding);
    expect(JSON.parse(unpack(body).toString())).toMatchObject({ object: 'chat.completion' });
  });

  it('is skipped when not requested, and for other types than JSON', async () => {
    expect((await chat('[[tokens=200]]')).headers['content-encoding']).toBeUndefined();
    expect(
      (await ask('/metrics', { headers: { 'accept-encoding': 'gzip' } })).headers['content-encoding'],
    ).toBeUndefined();
  });
});

describe('the documents', () => {
  it('are the same in JSON and YAML, and public', async () => {
    const json = JSON.parse((await ask('/api/v1/openapi.json')).body.toString()) as {
      info: { version: string };
      paths: object;
      servers: object[];
    };
    expect(json.info.version).toMatch(/^\d{8}\.\d{6}$/);
    expect(json.info.version).toBe((await ask('/health/live')).headers['x-service-version']);
    expect(parse((await ask('/api/v1/openapi.yaml')).body.toString())).toEqual(json);
    expect(Object.keys(json.paths)).toEqual(expect.arrayContaining(['/chat/completions', '/models']));
    expect(json.servers).toEqual([{ url: '/api/v1' }]);
  });

  it('are shown by a page without external resources', async () => {
    const { headers, body } = await ask('/docs');
    expect(headers['content-type']).toContain('text/html');
    const links = [...body.toString().matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link ?? '');
    expect(links.length).toBeGreaterThan(2);
    for (const link of links)
      expect((await ask(new URL(link, `${platform.origin}/docs`).pathname)).status, link).toBe(200);
    expect((await ask('/docs/')).headers.location).toBe('../docs');
    expect(body.toString()).not.toMatch(/https?:\/\//);
  });

  it('run no inline script on that page, and keep no key in the browser', async () => {
    expect((await ask('/docs')).body.toString()).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=/);
    const script = await ask('/docs/start.js');
    expect(script.headers['content-type']).toContain('text/javascript');
    expect(script.body.toString()).not.toContain('persistAuthorization');
  });
});

describe('an address that cannot be decoded', () => {
  it.each(['/api/v1/models/%', '/api/v1/models/%zz', '/api/v1/responses/%C3%28', '/api/v1/skills'])(
    'is refused in the form that clients of the route expect: %s',
    async (path) => {
      const { status, body } = await ask(path);
      expect([400, 404]).toContain(status);
      expect(JSON.parse(body.toString())).toMatchObject({
        error: { message: expect.any(String), code: expect.any(String) },
      });
    },
  );
});

describe('access', () => {
  it('to the models is public, but rejects an invalid key', async () => {
    expect((await ask('/api/v1/models')).status).toBe(200);
    expect((await ask('/api/v1/models', { headers: { authorization: 'Bearer slk_wrong' } })).status).toBe(401);
  });

  it('to models needs a key of either kind', async () => {
    expect((await chat('x', { authorization: `Bearer ${platform.adminKey}` })).status).toBe(200);
    const { status, headers } = await ask('/api/v1/chat/completions', { method: 'POST' });
    expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer']);
  });

  it('is not allowed for scripts of other origins', async () => {
    const { headers } = await ask('/api/v1/models', { headers: { origin: 'https://example.org' } });
    expect(headers['access-control-allow-origin']).toBeUndefined();
  });
});

describe('operations', () => {
  it('are reported by health and metrics', async () => {
    expect(JSON.parse((await ask('/health/ready')).body.toString())).toEqual({
      status: 'ok',
      checks: { database: 'ok', migrations: 'ok', queue: 'ok', storage: 'ok' },
    });
    await chat('[[tokens=1]]');
    const metrics = (await ask('/metrics')).body.toString();
    expect(metrics).toMatch(
      /sluice_http_request_duration_seconds_count\{[^}]*route="\/api\/v1\/chat\/completions"[^}]*status="200"/,
    );
    expect(metrics).toContain('sluice_queue_jobs{modality="chat",model="tiny-llama",state="waiting"');
    expect(metrics).not.toContain(platform.inferenceKey);
  });

  it('reject requests with Retry-After when a queue is full', async () => {
    // More than the worker runs at once; each runs until its client disconnects.
    const leave = new AbortController();
    setMaxListeners(0, leave.signal);
    const burst = Array.from({ length: 80 }, () => chat('[[tokens=100 delay=300]]', {}, leave.signal));
    const refused = await Promise.any(burst.map(async (answer) => only503(await answer)));
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(String(refused.body)).toContain('MODEL_AT_CAPACITY');
    leave.abort();
    const ends = await Promise.allSettled(burst);
    const statuses = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value.status] : []));
    expect(new Set(statuses)).toEqual(new Set([503]));
    await platform.closedJobs();
  });
});

describe('an encrypted request', () => {
  it('is refused with keys that are none', async () => {
    const { status, body } = await chat('04ab', { 'x-service-tee-client-pub-key': '04' });
    expect(status).toBe(400);
    expect(body.toString()).toContain('Invalid public key');
  });
});
