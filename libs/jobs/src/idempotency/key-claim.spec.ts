import { expect, it } from 'vitest';
import type { Logger } from '#platform/logging';
import type { SecretBox } from '#platform/encryption';
import type { IdempotencyRepository, KeyedRequest } from './idempotency.repository.js';
import { KeyClaim } from './key-claim.js';

it('packs a response once, however often storing it is tried', async () => {
  const [sealed, kept]: [unknown[], unknown[]] = [[], []];
  const box = { seal: (_place: string, bytes: Uint8Array) => (sealed.push(bytes), bytes) };
  let failures = 1;
  const keep = async (_request: KeyedRequest, bytes: unknown) => {
    failures -= 1;
    if (failures >= 0) throw new Error('the database is away');
    kept.push(bytes);
  };
  const request = { accountId: 'a', key: 'k', requestId: 'r', fingerprint: new Uint8Array() };
  const claim = new KeyClaim(request, {
    repository: { keep } as unknown as IdempotencyRepository,
    box: box as unknown as SecretBox,
    logger: { warn() {}, error() {} } as unknown as Logger,
    onEnd: () => undefined,
  });
  await claim.end('answered', { status: 200, headers: {}, body: Buffer.from('an answer') });
  expect(sealed).toHaveLength(1);
  expect(kept).toEqual(sealed);
});
