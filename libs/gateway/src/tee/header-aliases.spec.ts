import { describe, expect, it } from 'vitest';
import { applyHeaderAliases } from './header-aliases.js';

function applied(headers: Record<string, string>, prefix = 'X-Vendor-TEE-'): Record<string, string> {
  const changed = { ...headers };
  applyHeaderAliases(changed, prefix);
  return changed;
}

describe('headers of encrypted chats under another prefix', () => {
  it('count as the documented ones', () => {
    const sent = {
      'x-vendor-tee-client-pub-key': 'c',
      'x-vendor-tee-model-pub-key': 'm',
      'x-vendor-tee-signing-algo': 'ecdsa',
    };
    expect(applied(sent)).toEqual({
      ...sent,
      'x-service-tee-client-pub-key': 'c',
      'x-service-tee-model-pub-key': 'm',
      'x-service-tee-signing-algo': 'ecdsa',
    });
  });

  it('leave the documented ones as they are', () => {
    const sent = { 'x-service-tee-client-pub-key': 'c', 'x-other-tee-client-pub-key': 'd', 'x-vendor-tee-other': 'e' };
    expect(applied(sent)).toEqual(sent);
    expect(applied(sent, 'X-Service-TEE-')).toEqual(sent);
  });

  it('may be sent under both names, with one value', () => {
    const sent = { 'x-service-tee-model-pub-key': 'm', 'x-vendor-tee-model-pub-key': 'm' };
    expect(applied(sent)).toEqual(sent);
    expect(() => applied({ ...sent, 'x-vendor-tee-model-pub-key': 'n' })).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST', param: 'x-vendor-tee-model-pub-key' }),
    );
  });
});
