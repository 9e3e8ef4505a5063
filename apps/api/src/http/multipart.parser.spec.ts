import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { mebibyte } from '#common/values';
import {
  BooleanField,
  FileField,
  FileListField,
  IntegerField,
  type MultipartLimits,
  NumberField,
  readBody,
  TextField,
  UploadedFile,
} from '#platform/http';
import { RequestFingerprint } from '#platform/idempotency';
import { BodyBudget } from './body-budget.js';
import { BodyReader } from './body-reader.js';
import { addJsonParser } from './json.parser.js';
import { addMultipartParser } from './multipart.parser.js';

class ImageRequest {
  @TextField({ description: 'What to do.', required: true })
  prompt!: string;

  @IntegerField({ description: 'How often.', minimum: 1 })
  count?: number;

  @NumberField({ description: 'How much.' })
  strength?: number;

  @BooleanField({ description: 'Whether.' })
  safe?: boolean;

  @FileField({ description: 'The image.', orText: true })
  image?: UploadedFile | string;

  @FileListField({ description: 'More images.', maxItems: 3 })
  images?: UploadedFile[];
}

const unlimited = { processBytes: Infinity, addressBytes: Infinity, keyBytes: Infinity };
const bodies = new BodyReader(new BodyBudget(unlimited));
const limits: MultipartLimits = { maxFileBytes: 1_000, maxFiles: 3 };

describe('forms', () => {
  let server: FastifyInstance;
  const fingerprints: string[] = [];
  let received: Buffer = Buffer.alloc(0);

  beforeAll(async () => {
    server = Fastify({ bodyLimit: 100_000 });
    server.decorateRequest('fingerprint', null);
    server.addHook('onRequest', async (request) => {
      request.fingerprint = new RequestFingerprint('key');
    });
    addJsonParser(server, bodies);
    addMultipartParser(server, bodies);
    server.setErrorHandler((error, _request, reply) => {
      const { code, message, param } = PlatformError.from(error);
      void reply.status(400).send({ code, message, param });
    });
    server.post('/image', { config: { multipart: limits } }, (request) => {
      const read = readBody(ImageRequest, request);
      fingerprints.push(Buffer.from(request.fingerprint?.digest() ?? []).toString('hex'));
      return JSON.parse(
        JSON.stringify(read, (_key, value: unknown) =>
          value instanceof UploadedFile ? `${value.filename} ${value.contentType} ${value.bytes.toString()}` : value,
        ),
      ) as object;
    });
    server.post('/large', { config: { multipart: { maxFileBytes: 4 * mebibyte, maxFiles: 1 } } }, (request) => {
      const { image: file } = readBody(ImageRequest, request);
      if (!(file instanceof UploadedFile)) throw new Error('there is no file');
      received = file.bytes;
      return {};
    });
    server.post('/file', { config: { multipart: { ...limits, only: true } } }, async () => ({}));
    server.post('/json', async () => ({}));
    await server.ready();
  });
  afterAll(() => server.close());

  async function send(path: string, form: FormData | { body: Buffer | string; type: string }) {
    const encoded = form instanceof FormData ? new Response(form) : null;
    const payload = form instanceof FormData ? Buffer.from(await (encoded as Response).arrayBuffer()) : form.body;
    const type = form instanceof FormData ? (encoded?.headers.get('content-type') ?? '') : form.type;
    const answer = await server.inject({ method: 'POST', url: path, payload, headers: { 'content-type': type } });
    return answer.json<Record<string, unknown>>();
  }

  function formOf(fields: Record<string, string | File>): FormData {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    return form;
  }

  const image = (bytes = 'pixels', name = 'cat.png') => new File([bytes], name, { type: 'image/png' });

  it('become the same DTO as a JSON body', async () => {
    const form = formOf({ prompt: 'grüße', count: '2', strength: '0.5', safe: 'false', image: image() });
    form.append('images', image('one', 'a.png'));
    form.append('images[]', image('two', 'b.png'));
    expect(await send('/image', form)).toEqual({
      prompt: 'grüße',
      count: 2,
      strength: 0.5,
      safe: false,
      image: 'cat.png image/png pixels',
      images: ['a.png image/png one', 'b.png image/png two'],
    });
    const json = { prompt: 'x', image: 'aGVsbG8=' };
    expect(await send('/image', { body: JSON.stringify(json), type: 'application/json' })).toEqual(json);
  });

  it('take the spellings that clients have for a list', async () => {
    const form = formOf({ prompt: 'x' });
    for (const name of ['images', 'images[]', 'images[2]']) form.append(name, image(name));
    const images = ['images', 'images[]', 'images[2]'].map((name) => `cat.png image/png ${name}`);
    expect(await send('/image', form)).toMatchObject({ images });
  });

  it('turn a single file into a list where the field is a list', async () => {
    expect(await send('/image', formOf({ prompt: 'x', images: image() }))).toMatchObject({
      images: ['cat.png image/png pixels'],
    });
  });

  it.each([
    ['.2', 0.2],
    ['2e-1', 0.2],
    ['+0.2', 0.2],
    ['1e-05', 1e-5],
    ['1.', 1],
    ['-0.5E+1', -5],
    [' 0.2 ', 0.2],
  ])('read the number %j', async (text, strength) => {
    expect(await send('/image', formOf({ prompt: 'x', strength: text }))).toMatchObject({ strength });
  });

  it.each(['1e', '.', '0x10', '1e999', 'NaN', '1,5', '--1', '1 2'])('refuse the number %j', async (text) => {
    const answer = await send('/image', formOf({ prompt: 'x', strength: text }));
    expect(answer).toMatchObject({ param: 'strength', message: 'strength must be a number.' });
  });

  it('take an empty field of any kind for absent', async () => {
    const empty = { count: '', strength: '', safe: '', image: '', images: '' };
    expect(await send('/image', formOf({ prompt: 'x', ...empty }))).toEqual({ prompt: 'x', images: [] });
    expect(await send('/image', formOf({ prompt: '' }))).toMatchObject({ param: 'prompt' });
  });

  it.each([
    ['image/png', 'image'],
    ['Audio/WAV', 'image'],
    ['video/mp4', 'image'],
    ['application/octet-stream', 'image'],
  ])('take a part of the type %s without a file name for a file', async (type, name) => {
    const head = `--x\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: ${type}\r\n\r\nbytes`;
    const prompt = '--x\r\nContent-Disposition: form-data; name="prompt"\r\nContent-Type: text/plain\r\n\r\na text';
    const body = `${head}\r\n${prompt}\r\n--x--\r\n`;
    const answer = await send('/image', { body, type: 'multipart/form-data; boundary=x' });
    expect(answer).toEqual({ prompt: 'a text', image: expect.stringMatching(/ bytes$/) as string });
  });

  it('name the invalid field', async () => {
    const wrong: [Record<string, string | File>, string][] = [
      [{ prompt: 'x', count: 'many' }, 'count'],
      [{ prompt: 'x', count: '9007199254740993' }, 'count'],
      [{ prompt: 'x', safe: 'perhaps' }, 'safe'],
      [{ prompt: 'x', image: new File([], 'empty.png') }, 'image'],
      [{ prompt: 'x', images: 'aGVsbG8=' }, 'images'],
      [{ count: '1' }, 'prompt'],
    ];
    for (const [fields, param] of wrong) {
      expect(await send('/image', formOf(fields))).toMatchObject({ code: 'INVALID_REQUEST', param });
    }
    const twice = formOf({ prompt: 'x' });
    twice.append('prompt', 'y');
    expect(await send('/image', twice)).toMatchObject({ param: 'prompt', message: 'prompt must be given once.' });
  });

  it('have the same fingerprint whatever boundary they use', async () => {
    fingerprints.length = 0;
    const form = () => formOf({ prompt: 'x', image: image() });
    await send('/image', form());
    await send('/image', form());
    await send('/image', formOf({ prompt: 'x', image: image('other') }));
    expect(fingerprints[0]).toBe(fingerprints[1]);
    expect(fingerprints[0]).not.toBe(fingerprints[2]);
  });

  it('are rejected when they exceed a limit', async () => {
    const large = { code: 'PAYLOAD_TOO_LARGE' };
    expect(await send('/image', formOf({ prompt: 'x', image: image('a'.repeat(1_001)) }))).toMatchObject(large);
    expect(await send('/image', formOf({ prompt: 'x', image: image('a'.repeat(1_000)) }))).not.toMatchObject(large);
    expect(await send('/image', formOf({ prompt: 'a'.repeat(1_048_577) }))).toMatchObject(large);
    const type = 'multipart/form-data; boundary=x';
    const announced = { 'content-type': type, 'content-length': String(3_000 + 2_097_153) };
    const answer = await server.inject({ method: 'POST', url: '/image', payload: 'x', headers: announced });
    expect(answer.json()).toMatchObject(large);
  });

  it('are rejected when they have more files or fields than the route takes, which is no matter of size', async () => {
    const files = formOf({ prompt: 'x' });
    for (const index of [0, 1, 2, 3]) files.append(`images[${index}]`, image());
    expect(await send('/image', files)).toMatchObject({
      code: 'INVALID_REQUEST',
      param: 'images',
      message: expect.stringContaining('at most 3 files') as string,
    });
    const fields = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`f${index}`, '']));
    expect(await send('/image', formOf(fields))).toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('are rejected when they are malformed', async () => {
    const type = 'multipart/form-data; boundary=line';
    const part = '--line\r\ncontent-disposition: form-data; name="prompt"\r\n\r\nx\r\n';
    const broken: { body: string; type: string }[] = [
      { body: part, type },
      { body: '', type },
      { body: `${part}--line--\r\n`, type: 'multipart/form-data' },
      { body: `${part}--line--\r\n`, type: 'multipart/form-data; boundary=other' },
      { body: `${part.replace('x\r\n', 'a\0b\r\n')}--line--\r\n`, type },
      { body: `${part.replace('"prompt"', '"__proto__"')}--line--\r\n`, type },
      { body: `${part.replace('"prompt"', '"__proto__[0]"')}--line--\r\n`, type },
      { body: part.replace('name="prompt"', 'name="image"; filename="a.png"'), type },
    ];
    for (const form of broken) expect(await send('/image', form)).toMatchObject({ code: 'INVALID_REQUEST' });
  });

  const named = 'form-data; name="prompt"';
  it.each([
    ['without a name, as the last', [named, 'form-data']],
    ['without a name, before another', ['form-data', named]],
    ['with no more than a file name', [named, 'form-data; filename="a.png"']],
    ['with no more than a file name, before another', ['form-data; filename="a.png"', named]],
    ['with an empty name of its own language', [named, 'form-data; name*']],
  ])('with a part %s are rejected without ending the process', async (_part, dispositions) => {
    const parts = dispositions.map((text) => `--x\r\nContent-Disposition: ${text}\r\n\r\na\r\n`);
    const answer = await send('/image', {
      body: `${parts.join('')}--x--\r\n`,
      type: 'multipart/form-data; boundary=x',
    });
    expect(answer).toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringMatching(
        /^The body is not a valid form: (one of its parts has no name|a field has no usable name)\.$/,
      ) as string,
    });
  });

  it('with a truncated nameless file are rejected', async () => {
    const body = '--x\r\nContent-Disposition: form-data; filename="a.png"\r\n\r\nabc';
    const answer = await send('/image', { body, type: 'multipart/form-data; boundary=x' });
    expect(answer).toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('lack the fields of parts without headers', async () => {
    const type = 'multipart/form-data; boundary=x';
    const silent = '--x\r\nContent-Type: text/plain\r\n\r\na\r\n';
    expect(await send('/image', { body: `${silent}--x--\r\n`, type })).toMatchObject({ param: 'prompt' });
    const spoken = `--x\r\nContent-Disposition: ${named}\r\n\r\na\r\n`;
    expect(await send('/image', { body: `${silent}${spoken}--x--\r\n`, type })).toEqual({ prompt: 'a' });
    expect(await send('/image', { body: `${spoken}${silent}--x--\r\n`, type })).toEqual({ prompt: 'a' });
  });

  it.each([
    ['within a piece', 100],
    ['at the end of a piece', 0],
    ['over the end of a piece', -5],
  ])('keep the content of a file where it arrived, also with a beginning of the boundary %s', async (_where, shift) => {
    const head = '--line\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n\r\n';
    const prompt = '\r\n--line\r\ncontent-disposition: form-data; name="prompt"\r\n\r\nx\r\n--line--\r\n';
    const content = Buffer.alloc(3 * mebibyte, 7);
    // Parsed in pieces of a mebibyte.
    content.write('\r\n--lin', mebibyte - head.length + shift - 3);
    const body = Buffer.concat([Buffer.from(head), content, Buffer.from(prompt)]);
    const { length } = body;
    expect(await send('/large', { body, type: 'multipart/form-data; boundary=line' })).toEqual({});
    expect(received.equals(content)).toBe(true);
    expect(received.buffer.byteLength).toBe(length);
  });

  it('are accepted only on multipart routes', async () => {
    const refused = { code: 'INVALID_CONTENT_TYPE' };
    expect(await send('/json', formOf({ prompt: 'x' }))).toMatchObject(refused);
    expect(await send('/file', { body: '{}', type: 'application/json' })).toMatchObject(refused);
    expect(await send('/file', formOf({ file: image() }))).toEqual({});
  });
});
