import { describe, expect, it } from 'vitest';
import type { ResolveRequest } from '#model-registry';
import type { ApiConfig } from '#platform/config';
import { Metrics } from '#platform/metrics';
import type { ApiServices } from './api-services.js';
import { inferenceServicesOf } from './inference-services.js';

const metricsOf = () => new Metrics('api', { processMetrics: false });

function servicesWith(registry: object, config: Partial<ApiConfig>, metrics = metricsOf()): ApiServices {
  return { registry, config, metrics, transport: {}, drain: {} } as unknown as ApiServices;
}

/** What the routes ask of the registry under a configuration. */
async function asked(config: Partial<ApiConfig>, headers: Record<string, string> = {}): Promise<ResolveRequest> {
  let request: ResolveRequest | null = null;
  const registry = { resolve: (wish: ResolveRequest) => Promise.resolve((request = wish)) };
  await inferenceServicesOf(servicesWith(registry, config)).resolve('tiny', 'text', headers);
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

describe('a model that no worker holds', () => {
  it.each([
    [true, /^sluice_model_missed_timestamp_seconds\{model="tiny",app="api"\} \d{10}/m],
    [false, /^(?!.*model="tiny")/s],
  ])('is noted down for who scales the workers: %s', async (offline, expected) => {
    const metrics = metricsOf();
    const registry = { resolve: () => Promise.resolve({ manifest: { id: 'tiny' }, offline }) };
    await inferenceServicesOf(servicesWith(registry, {}, metrics)).resolve('tiny', 'text', {});
    expect(await metrics.render()).toMatch(expected);
  });
});
