import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packResponse, unpackResponse } from './stored-response.js';

describe('a stored response', () => {
  it('is restored byte by byte, whatever it is', async () => {
    const headers = fc.oneof(
      fc.constant({}),
      fc
        .constantFrom('application/json; charset=utf-8', 'text/event-stream', 'image/png', 'audio/mpeg')
        .map((type) => ({
          'content-type': type,
          'x-service-model-id': 'µ-model',
        })),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 200, max: 599 }),
        headers,
        fc.uint8Array({ maxLength: 500 }),
        async (status, given, bytes) => {
          const answer = { status, headers: given as Record<string, string>, body: Buffer.from(bytes) };
          expect(await unpackResponse(await packResponse(answer))).toEqual(answer);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('of text is compressed', async () => {
    const body = Buffer.from('data: {"choices":[{"delta":{"content":"word"}}]}\n\n'.repeat(1_000));
    const packed = await packResponse({ status: 200, headers: { 'content-type': 'text/event-stream' }, body });
    expect(packed.length).toBeLessThan(body.length / 10);
  });
});
