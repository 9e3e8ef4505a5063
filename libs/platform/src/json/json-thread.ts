import { parentPort } from 'node:worker_threads';
import { type ErrorIssue, PlatformError, type WireError } from '#common';
import { consumeJson } from './json-body.js';

/** What the thread returns for each body that it is sent. */
export type JsonThreadMessage =
  { type: 'value'; value: unknown } | { type: 'failed'; error: WireError; issues: ErrorIssue[] | undefined };

function read(bytes: Uint8Array): JsonThreadMessage {
  try {
    return { type: 'value', value: consumeJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)) };
  } catch (error) {
    const failure = PlatformError.from(error);
    return { type: 'failed', error: failure.toWire(), issues: failure.issues };
  }
}

parentPort?.on('message', (bytes: Uint8Array) => parentPort?.postMessage(read(bytes)));
