import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Platform, startPlatform } from '#test/platform';
import { postText, RawConnection } from '#test/raw-http';

/* Bad input gets an error naming the field, at once, and leaves no job running. */

let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform();
});

afterAll(async () => {
  await platform?.stop();
});

const path = '/api/v1/chat/completions';
const hello = { model: 'tiny-llama', messages: [{ role: 'user', content: 'Hello [[tokens=3]]' }] };

interface ErrorBody {
  error: { message: string; type: string; param: string | null; code: string };
  issues?: { code: string; path: (string | number)[]; message: string }[];
}

async function post(body: string | object, headers: Record<string, string> = {}): Promise<Response> {
  return await fetch(platform.origin + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

async function refusal(
  body: string | object,
  headers?: Record<string, string>,
): Promise<ErrorBody['error'] & { status: number }> {
  const response = await post(body, headers);
  const { error } = (await response.json()) as ErrorBody;
  expect(response.headers.get('content-type')).toMatch(/^application\/json/);
  expect(response.headers.get('cf-ray')).toMatch(/^[0-9a-f]{16}-/);
  expect(error.message).toBeTypeOf('string');
  return { status: response.status, ...error };
}

function withContent(json: string): string {
  return `{"model":"tiny-llama","messages":[{"role":"user","content":${json}}]}`;
}

describe('a chat request', () => {
  it.each<[string, string, string | object]>([
    ['empty messages', 'messages', { ...hello, messages: [] }],
    ['a wrong role', 'messages[0].role', { ...hello, messages: [{ role: 'wizard', content: 'x' }] }],
    ['a number outside the double range', 'temperature', `{"model":"tiny-llama","messages":[],"temperature":1e309}`],
    ['an unpaired surrogate', 'messages[0].content', withContent(String.raw`"a\ud800"`)],
    ['five stop strings', 'stop', { ...hello, stop: ['a', 'b', 'c', 'd', 'e'] }],
    ['n of 0', 'n', { ...hello, n: 0 }],
    ['n of 5', 'n', { ...hello, n: 5 }],
    ['logprobs as a word', 'logprobs', { ...hello, logprobs: 'yes' }],
    ['logprobs as a number', 'logprobs', { ...hello, logprobs: 3 }],
    ['top_logprobs alone', 'top_logprobs', { ...hello, top_logprobs: 3 }],
    ['a tool of the service', 'tools[0].type', { ...hello, tools: [{ type: 'web_search' }] }],
    ['a forced tool without tools', 'tool_choice', { ...hello, tool_choice: 'required' }],
    ['a format without its schema', 'response_format', { ...hello, response_format: { type: 'json_schema' } }],
    [
      'two formats',
      'response_schema',
      { ...hello, response_format: { type: 'json_object' }, response_schema: { type: 'object' } },
    ],
    [
      'an image',
      'messages[0].content[0]',
      withContent('[{"type":"image_url","image_url":{"url":"http://127.0.0.1/"}}]'),
    ],
    ['a wrong suffix', 'model', { ...hello, model: 'tiny-llama:speed=11' }],
  ])('with %s is rejected with the field name', async (_name, param, body) => {
    expect(await refusal(body)).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      code: 'INVALID_REQUEST',
      param,
    });
  });

  it('nested 10 000 deep is rejected', async () => {
    const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
    const error = await refusal(`{"model":"tiny-llama","messages":[],"extra":${deep}}`);
    expect(error).toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
    expect(error.param).toMatch(/^extra\[0\]/);
  });

  it('with several issues names the first and lists the others', async () => {
    const response = await post({ ...hello, temperature: 9, top_p: 7 });
    const { error, issues } = (await response.json()) as ErrorBody;
    expect(error.param).toBe('temperature');
    expect(issues?.map(({ code, path: at }) => [code, at])).toEqual([
      ['too_big', ['temperature']],
      ['too_big', ['top_p']],
    ]);
  });

  it('with a max_tokens of -1 is accepted, as in the published API', async () => {
    expect((await post({ ...hello, max_tokens: -1 })).status).toBe(200);
  });

  it('with undocumented fields is accepted', async () => {
    expect((await post({ ...hello, invented: { a: [1] }, constructor: { prototype: 1 } })).status).toBe(200);
  });

  it('one token over the context is rejected with OpenAI’s message', async () => {
    const words = (count: number) => ({ ...hello, messages: [{ role: 'user', content: 'w '.repeat(count).trim() }] });
    // The test engine counts words; the role is one of them.
    const fits = await post({ ...words(254), max_completion_tokens: 1 });
    expect(fits.status).toBe(200);
    expect(await refusal(words(255))).toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      param: 'messages',
    });
  });

  it('with malformed JSON is rejected with the position', async () => {
    const error = await refusal('{"model": "tiny-llama", "messages": [}');
    expect(error).toMatchObject({ status: 400, code: 'INVALID_REQUEST', param: null });
    expect(error.message).toContain('position 37 (line 1, column 38)');
  });

  it('of another content type, or compressed, gets a 415', async () => {
    expect(await refusal('a=b', { 'content-type': 'application/x-www-form-urlencoded' })).toMatchObject({
      status: 415,
      code: 'INVALID_CONTENT_TYPE',
    });
    expect(await refusal('x', { 'content-encoding': 'gzip' })).toMatchObject({ status: 415 });
  });

  it('larger than 35 MB gets a 413', async () => {
    const big = withContent(`"${'x'.repeat(36 * 1024 * 1024)}"`);
    expect(await refusal(big)).toMatchObject({ status: 413, code: 'PAYLOAD_TOO_LARGE' });
  });

  it('of 30 MB of text is rejected as too long, not as a failure', async () => {
    const big = withContent(`"${'x'.repeat(30 * 1024 * 1024)}"`);
    expect(await refusal(big)).toMatchObject({ status: 400, code: 'context_length_exceeded' });
  });

  it('with a wrong last character in the key gets a 401', async () => {
    const last = platform.inferenceKey.endsWith('0') ? '1' : '0';
    const headers = { authorization: `Bearer ${platform.inferenceKey.slice(0, -1)}${last}` };
    expect(await refusal(hello, headers)).toMatchObject({ status: 401, code: 'AUTHENTICATION_FAILED' });
  });

  it.each(['', 'Bearer', 'Basic abc', 'Bearer a b', 'Bearer slk_'])(
    'with the credentials %j gets a 401',
    async (authorization) => {
      expect(await refusal(hello, { authorization })).toMatchObject({ status: 401, code: 'AUTHENTICATION_FAILED' });
    },
  );

  it('left no job open, whatever it contained', async () => {
    const jobs = await platform.closedJobs();
    expect(new Set(jobs.map(({ state }) => state))).toEqual(new Set(['succeeded', 'failed']));
  });
});

describe('an upload', () => {
  const part = (name: string) =>
    `--one\r\nContent-Disposition: form-data; name="${name}"; filename="a"\r\n\r\nabc\r\n--one--\r\n`;

  it.each([
    ['image/upscale', 'image'],
    ['image/edit', 'image'],
    ['image/multi-edit', 'images'],
    ['image/background-remove', 'image'],
    ['audio/voices', 'file'],
  ])('to %s with a wrong or missing boundary is rejected', async (route, name) => {
    for (const type of ['multipart/form-data; boundary=two', 'multipart/form-data']) {
      const response = await fetch(`${platform.baseUrl}/${route}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': type },
        body: part(name),
      });
      expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([400, 'INVALID_REQUEST']);
    }
  });

  it('left no job behind', async () => {
    expect(await platform.query("SELECT 1 FROM holds WHERE state = 'open'")).toEqual([]);
  });
});

describe('a path', () => {
  const read = async (method: string, url: string) => {
    const headers = { authorization: `Bearer ${platform.inferenceKey}` };
    const response = await fetch(platform.origin + url, { method, headers });
    return { status: response.status, allow: response.headers.get('allow'), body: (await response.json()) as unknown };
  };

  it('that does not exist gets a 404 in the plain envelope', async () => {
    const { status, body } = await read('GET', '/api/v1/nowhere');
    expect(status).toBe(404);
    expect(body).toEqual({ error: expect.any(String) as string, code: 'NOT_FOUND' });
    expect((await read('GET', '/nowhere')).status).toBe(404);
  });

  it('with a wrong method gets a 405 that lists the allowed ones', async () => {
    const { status, allow, body } = await read('GET', path);
    expect([status, allow]).toEqual([405, 'POST']);
    expect(body).toMatchObject({ error: { code: 'METHOD_NOT_ALLOWED', type: 'invalid_request_error' } });
    expect((await read('DELETE', '/api/v1/models')).allow).toBe('GET, HEAD');
  });

  it('that cannot be decoded also gets JSON', async () => {
    const { status, body } = await read('GET', '/api/v1/%zz');
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: 'INVALID_REQUEST' });
  });
});

describe('a connection', () => {
  it('cut off within a body gets a response and leaves no job', async () => {
    const before = (await platform.closedJobs()).length;
    const raw = await RawConnection.open(platform.port);
    const whole = postText(path, JSON.stringify(hello), { authorization: `Bearer ${platform.inferenceKey}` });
    raw.send(whole.slice(0, -20));
    raw.finishSending();
    const answer = await raw.untilClosed();
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"code":"INVALID_REQUEST"');
    expect((await platform.closedJobs()).length).toBe(before);
  });

  it('that drops within a body leaves no job', async () => {
    const before = (await platform.closedJobs()).length;
    const raw = await RawConnection.open(platform.port);
    raw.send(postText(path, JSON.stringify(hello), { authorization: `Bearer ${platform.inferenceKey}` }).slice(0, -20));
    raw.leave();
    expect((await post(hello)).status).toBe(200);
    expect((await platform.closedJobs()).length).toBe(before + 1);
  });

  it.each([true, false])('that closes before the first token cancels its job (stream: %s)', async (stream) => {
    const slow = { ...hello, stream, messages: [{ role: 'user', content: '[[tokens=4000 delay=50]]' }] };
    const raw = await RawConnection.open(platform.port);
    raw.send(postText(path, JSON.stringify(slow), { authorization: `Bearer ${platform.inferenceKey}` }));
    await expect
      .poll(async () => (await platform.query("SELECT 1 FROM jobs WHERE state IN ('queued', 'running')")).length)
      .toBe(1);
    raw.leave();
    const job = (await platform.closedJobs()).at(-1);
    expect(job?.state).toBe('cancelled');
    expect(job?.completion_tokens ?? 0).toBeLessThan(200);
  });

  it.each([
    ['a request that is not HTTP', 'HELLO\r\n\r\n'],
    [
      'both lengths',
      `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['two lengths', `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\nabcd`],
    ['a header of 64 KB', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(65_536)}\r\n\r\n`],
  ])('with %s gets JSON and is closed', async (_name, text) => {
    const raw = await RawConnection.open(platform.port);
    raw.send(text);
    const answer = await raw.untilClosed();
    expect(answer).toMatch(/^HTTP\/1\.1 4(00|31) /);
    expect(answer.toLowerCase()).toContain('connection: close');
    expect(answer).toContain('"code":"INVALID_REQUEST"');
  });
});
