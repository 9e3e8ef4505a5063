import { describe, expect, it } from 'vitest';
import type { ModelRegistryService, ResolveRequest } from '#model-registry';
import type { ApiConfig } from '#platform/config';
import type { RequestCaller } from '#platform/http';
import { Metrics } from '#platform/metrics';
import type { QueueTransport } from '#queue';
import { ModelResolver } from './model-resolver.js';
import { StoreBudgets } from '../request/store-budgets.js';

const metricsOf = () => new Metrics('api', { processMetrics: false });

interface Scene {
  config?: Partial<ApiConfig>;
  metrics?: Metrics;
  offline?: boolean;
  disabled?: boolean;
  /** Models reported to the workers as unserved. */
  missedIds?: string[];
  /** Requests that the registry received. */
  requests?: ResolveRequest[];
}

function resolverOn({
  config = {},
  metrics = metricsOf(),
  offline = false,
  disabled = false,
  missedIds = [],
  requests = [],
}: Scene): ModelResolver {
  const resolved = { manifest: { id: 'tiny', type: 'text', privacy: 'anonymized' }, offline, disabled };
  const registry = { resolve: (options: ResolveRequest) => (requests.push(options), Promise.resolve(resolved)) };
  const transport = { placements: { reportUnserved: (modelId: string) => missedIds.push(modelId) } };
  return new ModelResolver(
    registry as unknown as ModelRegistryService,
    new StoreBudgets({ storeTimeoutMs: 60_000 }),
    transport as unknown as QueueTransport,
    metrics,
    config as ApiConfig,
  );
}

const anonymous = { headers: {}, caller: null };

/** Returns what the routes ask the registry under a configuration. */
async function asked(config: Partial<ApiConfig>, headers: Record<string, string> = {}): Promise<ResolveRequest> {
  const requests: ResolveRequest[] = [];
  await resolverOn({ config, requests }).resolve('tiny', 'text', { headers, caller: null });
  return requests[0] ?? expect.fail('the registry received no request');
}

describe('the registry request of a route', () => {
  it('has the country of the configured header, and none without a header or a valid country', async () => {
    const headers = { 'x-country': ' XA ' };
    expect((await asked({ regionHeader: 'X-Country' }, headers)).region).toBe('XA');
    expect((await asked({ regionHeader: 'x-country' }, { 'x-country': 'unknown' })).region).toBeUndefined();
    expect((await asked({ regionHeader: 'x-country' })).region).toBeUndefined();
    expect((await asked({}, headers)).region).toBeUndefined();
  });

  it.each([true, false])('has the configured beta access: %s', async (betaModels) => {
    expect(await asked({ betaModels })).toMatchObject({ name: 'tiny', type: 'text', betaAccess: betaModels });
  });

  it.each([true, false])('has the beta access of the account: %s', async (betaAccess) => {
    const requests: ResolveRequest[] = [];
    const caller = { modelPrivacy: 'ALL', betaAccess } as RequestCaller;
    await resolverOn({ config: { betaModels: false }, requests }).resolve('tiny', 'text', { headers: {}, caller });
    expect(requests[0]).toMatchObject({ betaAccess });
  });
});

const missed = /^sluice_model_last_unserved_request_timestamp_seconds\{model="tiny",app="api"\} \d{10}/m;

describe('a model without a replica', () => {
  it.each([
    [true, missed],
    [false, /^(?!.*model="tiny")/s],
  ])('is recorded for the autoscaler and reported to the workers: %s', async (offline, expected) => {
    const [metrics, missedIds] = [metricsOf(), []];
    await resolverOn({ metrics, offline, missedIds }).resolve('tiny', 'text', anonymous);
    expect(await metrics.render()).toMatch(expected);
    expect(missedIds).toEqual(offline ? ['tiny'] : []);
  });
});

it('does not report a model that the operator took offline', async () => {
  const [metrics, missedIds] = [metricsOf(), []];
  await resolverOn({ metrics, offline: true, disabled: true, missedIds }).resolve('tiny', 'text', anonymous);
  expect(await metrics.render()).not.toMatch(missed);
  expect(missedIds).toEqual([]);
});

describe('a model that is not private', () => {
  const ask = (modelPrivacy: RequestCaller['modelPrivacy'], scene: Scene = {}) =>
    resolverOn(scene).resolve('tiny', 'text', { headers: {}, caller: { modelPrivacy } as RequestCaller });

  it.each(['PRIVATE_TEXT', 'PRIVATE_ONLY'] as const)(
    'is refused to a key with %s, with or without a replica, and is not reported as unserved',
    async (modelPrivacy) => {
      for (const offline of [true, false]) {
        const metrics = metricsOf();
        await expect(ask(modelPrivacy, { metrics, offline })).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
        expect(await metrics.render()).not.toMatch(missed);
      }
    },
  );

  it('is available to all other keys', async () => {
    expect(await ask('ALL')).toMatchObject({ manifest: { id: 'tiny' } });
    expect(await resolverOn({}).resolve('tiny', 'text', anonymous)).toMatchObject({ manifest: { id: 'tiny' } });
  });
});
