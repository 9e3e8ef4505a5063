import { describe, expect, it } from 'vitest';
import type { ResolveRequest } from '#model-registry';
import type { ApiConfig } from '#platform/config';
import type { ApiServices } from './api-services.js';
import { inferenceServicesOf } from './inference-services.js';

/** What the routes ask of the registry under a configuration. */
async function asked(config: Partial<ApiConfig>, headers: Record<string, string> = {}): Promise<ResolveRequest> {
  let request: ResolveRequest | null = null;
  const registry = { resolve: (wish: ResolveRequest) => Promise.resolve((request = wish)) };
  const services = { registry, config, transport: {}, drain: {} } as unknown as ApiServices;
  await inferenceServicesOf(services).resolve('tiny', 'text', headers);
  return request ?? expect.fail('nothing was asked');
}

describe('what the routes tell the registry of a caller', () => {
  it('is the country in the configured header, and none where it names none or no header is configured', async () => {
    const headers = { 'x-country': ' XA ' };
    expect((await asked({ regionHeader: 'X-Country' }, headers)).region).toBe('XA');
    expect((await asked({ regionHeader: 'x-country' }, { 'x-country': 'unknown' })).region).toBeUndefined();
    expect((await asked({ regionHeader: 'x-country' })).region).toBeUndefined();
    expect((await asked({}, headers)).region).toBeUndefined();
  });

  it.each([true, false])('is beta access as it is configured: %s', async (betaModels) => {
    expect(await asked({ betaModels })).toMatchObject({ name: 'tiny', type: 'text', betaAccess: betaModels });
  });
});
