import { describe, expect, it } from 'vitest';
import type { ModelRegistryService, ResolveRequest } from '#model-registry';
import type { ApiConfig } from '#platform/config';
import type { RequestCaller } from '#platform/http';
import { Metrics } from '#platform/metrics';
import type { QueueTransport } from '#queue';
import { ModelResolver } from './model-resolver.js';
import { StoreBudgets } from './store-budgets.js';

const metricsOf = () => new Metrics('api', { processMetrics: false });

interface Scene {
  config?: Partial<ApiConfig>;
  metrics?: Metrics;
  offline?: boolean;
  disabled?: boolean;
  /** Models that the workers are told of as missed. */
  missedIds?: string[];
  /** What the registry is asked for. */
  wishes?: ResolveRequest[];
}

function resolverOn({
  config = {},
  metrics = metricsOf(),
  offline = false,
  disabled = false,
  missedIds = [],
  wishes = [],
}: Scene): ModelResolver {
  const resolved = { manifest: { id: 'tiny', type: 'text', privacy: 'anonymized' }, offline, disabled };
  const registry = { resolve: (options: ResolveRequest) => (wishes.push(options), Promise.resolve(resolved)) };
  const transport = { placements: { miss: (modelId: string) => missedIds.push(modelId) } };
  return new ModelResolver(
    registry as unknown as ModelRegistryService,
    new StoreBudgets(60_000),
    transport as unknown as QueueTransport,
    metrics,
    config as ApiConfig,
  );
}

const nobody = { headers: {}, caller: null };

/** What the routes ask of the registry under a configuration. */
async function asked(config: Partial<ApiConfig>, headers: Record<string, string> = {}): Promise<ResolveRequest> {
  const wishes: ResolveRequest[] = [];
  await resolverOn({ config, wishes }).resolve('tiny', 'text', { headers, caller: null });
  return wishes[0] ?? expect.fail('nothing was asked');
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

const missed = /^sluice_model_last_unserved_request_timestamp_seconds\{model="tiny",app="api"\} \d{10}/m;

describe('a model that no worker holds', () => {
  it.each([
    [true, missed],
    [false, /^(?!.*model="tiny")/s],
  ])('is noted down for who scales the workers, and told to the workers: %s', async (offline, expected) => {
    const [metrics, missedIds] = [metricsOf(), []];
    await resolverOn({ metrics, offline, missedIds }).resolve('tiny', 'text', nobody);
    expect(await metrics.render()).toMatch(expected);
    expect(missedIds).toEqual(offline ? ['tiny'] : []);
  });
});

it('is missed by nobody where the operator took the model offline', async () => {
  const [metrics, missedIds] = [metricsOf(), []];
  await resolverOn({ metrics, offline: true, disabled: true, missedIds }).resolve('tiny', 'text', nobody);
  expect(await metrics.render()).not.toMatch(missed);
  expect(missedIds).toEqual([]);
});

describe('a model that is not private', () => {
  const ask = (modelPrivacy: RequestCaller['modelPrivacy'], scene: Scene = {}) =>
    resolverOn(scene).resolve('tiny', 'text', { headers: {}, caller: { modelPrivacy } as RequestCaller });

  it.each(['PRIVATE_TEXT', 'PRIVATE_ONLY'] as const)(
    'is refused to a key with %s, held by a worker or not, and wakes nobody',
    async (modelPrivacy) => {
      for (const offline of [true, false]) {
        const metrics = metricsOf();
        await expect(ask(modelPrivacy, { metrics, offline })).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
        expect(await metrics.render()).not.toMatch(missed);
      }
    },
  );

  it('is there for all other keys, and for nobody in particular', async () => {
    expect(await ask('ALL')).toMatchObject({ manifest: { id: 'tiny' } });
    expect(await resolverOn({}).resolve('tiny', 'text', nobody)).toMatchObject({ manifest: { id: 'tiny' } });
  });
});
