import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Busboy, type BusboyHeaders } from '@fastify/busboy';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import { fieldOfPart, FormBody, type MultipartLimits, type RouteSettings, UploadedFile } from '#platform/http';
import { fingerprintBody } from '#platform/idempotency';
import { textProblem } from '#platform/json';
import type { BodyReader } from './body-reader.js';

/** Maximum size of a form on any route, in bytes: three images and their fields. */
const maxBytes = 80 * 1024 * 1024;
/** Bytes parsed in one turn of the event loop. */
const turnBytes = 1024 * 1024;
/** Space for text fields and headers besides the files, in bytes. */
const textBytes = 2 * 1024 * 1024;
const textLimits = { fieldNameSize: 100, fieldSize: 1024 * 1024, fields: 100, headerPairs: 20 } as const;

function limitsOf(request: FastifyRequest): MultipartLimits | undefined {
  return (request.routeOptions.config as RouteSettings).multipart;
}

function isForm({ headers }: FastifyRequest): boolean {
  return /^multipart\/form-data\b/i.test(headers['content-type'] ?? '');
}

function bytesAllowed({ maxFiles, maxFileBytes }: MultipartLimits): number {
  return Math.min(maxBytes, maxFiles * maxFileBytes + textBytes);
}

function tooLarge(problem: string): PlatformError {
  return new PlatformError('PAYLOAD_TOO_LARGE', problem);
}

/**
 * Parses forms on `@Multipart` routes only; other routes reject them by their headers. The whole form is read before
 * the handler runs, so that it counts as one body for an `Idempotency-Key`.
 */
export function addMultipartParser(server: FastifyInstance, bodies: BodyReader): void {
  server.addHook('preParsing', async (request) => {
    if (request.is404) return;
    const limits = limitsOf(request);
    if (isForm(request)) checkHead(request, limits);
    else if (limits?.only === true && request.headers['content-type'] !== undefined) throw notAForm();
  });
  server.addContentTypeParser('multipart/form-data', async (request: FastifyRequest, payload: IncomingMessage) => {
    const limits = limitsOf(request);
    if (limits === undefined) throw notJson();
    return await parseForm(request, await bodies.read(request, payload, bytesAllowed(limits)), limits);
  });
}

function checkHead({ headers }: FastifyRequest, limits: MultipartLimits | undefined): void {
  if (limits === undefined) throw notJson();
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw new PlatformError('INVALID_CONTENT_TYPE', 'Compressed bodies are not supported.', 'content-encoding');
  }
  const allowed = bytesAllowed(limits);
  if (Number(headers['content-length'] ?? 0) > allowed) throw tooLarge(`The body is larger than ${allowed} bytes.`);
}

function notJson(): PlatformError {
  return new PlatformError('INVALID_CONTENT_TYPE', 'The body must be sent as application/json.');
}

function notAForm(): PlatformError {
  return new PlatformError('INVALID_CONTENT_TYPE', 'The body must be sent as multipart/form-data.');
}

function malformed(problem: string, cause?: unknown): PlatformError {
  return new PlatformError('INVALID_REQUEST', `The body is not a valid form: ${problem}.`, null, { cause });
}

/** Names the field of the last file within the limit: the one too many is mostly another of the same. */
function tooManyFiles(lastField: string | null, { maxFiles }: MultipartLimits): PlatformError {
  const taken = maxFiles === 1 ? 'one file' : `at most ${maxFiles} files`;
  return new PlatformError('INVALID_REQUEST', `This route takes ${taken}; the form has more.`, lastField);
}

type FormParser = InstanceType<typeof Busboy>;

function parserOf({ headers }: FastifyRequest, { maxFiles, maxFileBytes }: MultipartLimits): FormParser {
  try {
    const limits = { ...textLimits, fileSize: maxFileBytes, files: maxFiles, parts: textLimits.fields + maxFiles };
    return new Busboy({ headers: headers as BusboyHeaders, limits, isPartAFile });
  } catch (error) {
    throw malformed('its content type names no boundary', error);
  }
}

/** A file name is optional (RFC 7578, 4.2), so content that no text field has makes a file, too. */
function isPartAFile(_name: string | undefined, contentType: string | undefined, filename?: string): boolean {
  return filename !== undefined || /^(?:application\/octet-stream$|(?:audio|image|video)\/)/i.test(contentType ?? '');
}

/** One part at its position: the content of a file may complete after later parts have begun. */
interface Part {
  name: string;
  value: string | UploadedFile;
}

async function parseForm(request: FastifyRequest, body: Buffer, limits: MultipartLimits): Promise<FormBody> {
  const form = new FormBody();
  for (const { name, value } of await partsOf(parserOf(request, limits), body, limits)) {
    fingerprintBody(request, name, typeof value === 'string' ? value : value.bytes);
    form.add(name, value);
  }
  return form;
}

function partsOf(parser: FormParser, body: Buffer, limits: MultipartLimits): Promise<Part[]> {
  const parts: Part[] = [];
  let lastFileField: string | null = null;
  return new Promise((resolve, reject) => {
    // busboy reports parts one tick later. An exception thrown there would be uncaught and end the process.
    const attempt = (step: () => void): void => {
      try {
        step();
      } catch (error) {
        reject(error as Error);
      }
    };
    parser.on('field', (name, value, nameCut, valueCut) =>
      attempt(() => {
        if (nameCut || valueCut) throw tooLarge('A field of the form is too long.');
        checkField(name, value);
        parts.push({ name, value });
      }),
    );
    parser.on('file', (name, stream, filename, _encoding, contentType) => {
      const part: Part = { name, value: '' };
      const chunks: Buffer[] = [];
      // Attached even when the name is rejected: an unhandled stream error would end the process.
      stream.on('error', (error: Error) => reject(malformed('it is cut off', error)));
      stream.on('limit', () => reject(tooLarge(`A file of the form is larger than ${limits.maxFileBytes} bytes.`)));
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () =>
        attempt(() => void (part.value = new UploadedFile(joined(chunks, body), filename ?? '', contentType))),
      );
      attempt(() => {
        checkField(name);
        lastFileField = fieldOfPart(name);
        parts.push(part);
      });
    });
    parser.on('filesLimit', () => reject(tooManyFiles(lastFileField, limits)));
    for (const event of ['fieldsLimit', 'partsLimit'] as const) {
      parser.on(event, () => reject(malformed(`it has more than ${textLimits.fields} fields`)));
    }
    parser.on('error', (error) => reject(malformed('it is cut off, or not made with the boundary it names', error)));
    parser.on('finish', () => resolve(parts));
    void feed(parser, body);
  });
}

/**
 * Returns the content of a file where it stands in the body, instead of a copy of it. The parser passes views of the
 * body on, except for what may begin a boundary between two pieces.
 */
function joined(chunks: readonly Buffer[], body: Buffer): Buffer {
  let before = 0;
  for (const chunk of chunks) {
    if (chunk.buffer === body.buffer) {
      const start = chunk.byteOffset - body.byteOffset - before;
      return body.subarray(start, start + chunks.reduce((sum, { length }) => sum + length, 0));
    }
    before += chunk.length;
  }
  return Buffer.concat(chunks);
}

/** In pieces, so that others are served between them. */
async function feed(parser: FormParser, body: Buffer): Promise<void> {
  for (let from = 0; from < body.length && !parser.destroyed; from += turnBytes) {
    parser.write(body.subarray(from, from + turnBytes));
    await nextTurn();
  }
  parser.end();
}

/** Throws if a part is invalid. Its name is undefined when its headers have none, despite busboy's types. */
function checkField(name: string | undefined, value = ''): void {
  if (name === undefined) throw malformed('one of its parts has no name');
  if (['', '__proto__'].includes(fieldOfPart(name))) throw malformed('a field has no usable name');
  const problem = textProblem(name) ?? textProblem(value);
  if (problem !== null) throw malformed(`a field ${problem}`);
}
