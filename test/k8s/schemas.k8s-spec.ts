import { beforeAll, describe, expect, it } from 'vitest';
import { idOf, type Manifest, ofKind, workloadsOf } from './manifest.js';
import { overlays, renderOverlay } from './render-overlay.js';
import { wrongFields, wrongValues } from './schemas.js';

type Spoil = (manifests: Manifest[]) => unknown;

const firstPod = (all: Manifest[]) => workloadsOf(all)[0]!.pod;
const first = (all: Manifest[], kind: string) => ofKind(all, kind)[0]!;

const wrongValueNames: [string, Spoil][] = [
  ['a container without a name', (all) => delete (firstPod(all).containers[0] as { name?: string }).name],
  ['a number for a text', (all) => (firstPod(all).containers[0]!.image = 5 as unknown as string)],
  ['a kind that does not exist in its group', (all) => (all[0]!.kind = 'Nomespace')],
  ['a scaler without a target', (all) => delete first(all, 'ScaledObject').spec!.scaleTargetRef],
];

const wrongFieldNames: [string, Spoil][] = [
  ['of a pod', (all) => Object.assign(firstPod(all), { terminationGracePeriod: 5 })],
  ['of a probe', (all) => Object.assign(firstPod(all).containers[0]!.livenessProbe!, { periodSecond: 5 })],
  ['of a scaler', (all) => Object.assign(first(all, 'ScaledObject').spec!, { minReplicas: 1 })],
  ['of a network policy', (all) => Object.assign(first(all, 'NetworkPolicy').spec!, { outgress: [] })],
];

const rendered = new Map(overlays.map((overlay) => [overlay, renderOverlay(overlay)]));

function corrupted(corrupt: Spoil): Manifest[] {
  const manifests = structuredClone(rendered.get('production') ?? []);
  corrupt(manifests);
  return manifests;
}

/** Type errors, by overlay or by planted mistake. */
const fields = new Map<string, string[]>();

beforeAll(() => {
  const planted = wrongFieldNames.map(([name, corrupt]) => [name, corrupted(corrupt)] as const);
  const groups = [...rendered, ...planted];
  const objects = groups.flatMap(([name, manifests]) => manifests.map((manifest) => ({ name, manifest })));
  const violations = wrongFields(objects.map(({ manifest }) => manifest));
  for (const [name] of groups) fields.set(name, []);
  objects.forEach(({ name, manifest }, index) =>
    fields.get(name)?.push(...(violations[index] ?? []).map((text) => `${idOf(manifest)}: ${text}`)),
  );
}, 120_000);

describe.each(overlays)('the objects of the overlay %s', (overlay) => {
  it('have valid values for the schemas of Kubernetes and KEDA', async () => {
    expect(await wrongValues(rendered.get(overlay) ?? [])).toEqual([]);
  });

  it('have no unknown field', () => {
    expect(rendered.get(overlay)?.length).toBeGreaterThan(30);
    expect(fields.get(overlay)).toEqual([]);
  });
});

describe('a mistake', () => {
  it.each(wrongValueNames)('in a value is found: %s', async (_name, corrupt) => {
    expect((await wrongValues(corrupted(corrupt))).length).toBeGreaterThan(0);
  });

  it.each(wrongFieldNames)('in the name of a field is found: one %s', (name) => {
    expect(fields.get(name)?.join()).toMatch(/does not exist in type|known properties/);
  });
});
