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
  ['a kind that its group has not', (all) => (all[0]!.kind = 'Nomespace')],
  ['a scaler without a target', (all) => delete first(all, 'ScaledObject').spec!.scaleTargetRef],
];

const wrongFieldNames: [string, Spoil][] = [
  ['of a pod', (all) => Object.assign(firstPod(all), { terminationGracePeriod: 5 })],
  ['of a probe', (all) => Object.assign(firstPod(all).containers[0]!.livenessProbe!, { periodSecond: 5 })],
  ['of a scaler', (all) => Object.assign(first(all, 'ScaledObject').spec!, { minReplicas: 1 })],
  ['of a network policy', (all) => Object.assign(first(all, 'NetworkPolicy').spec!, { outgress: [] })],
];

const rendered = new Map(overlays.map((overlay) => [overlay, renderOverlay(overlay)]));

function spoilt(spoil: Spoil): Manifest[] {
  const manifests = structuredClone(rendered.get('production') ?? []);
  spoil(manifests);
  return manifests;
}

/** What the types say, by overlay or by what was planted. */
const fields = new Map<string, string[]>();

beforeAll(() => {
  const planted = wrongFieldNames.map(([name, spoil]) => [name, spoilt(spoil)] as const);
  const groups = [...rendered, ...planted];
  const objects = groups.flatMap(([name, manifests]) => manifests.map((manifest) => ({ name, manifest })));
  const offences = wrongFields(objects.map(({ manifest }) => manifest));
  for (const [name] of groups) fields.set(name, []);
  objects.forEach(({ name, manifest }, index) =>
    fields.get(name)?.push(...(offences[index] ?? []).map((text) => `${idOf(manifest)}: ${text}`)),
  );
}, 120_000);

describe.each(overlays)('the objects of the overlay %s', (overlay) => {
  it('have the values that the schemas of Kubernetes and KEDA ask for', async () => {
    expect(await wrongValues(rendered.get(overlay) ?? [])).toEqual([]);
  });

  it('have no field that those do not know', () => {
    expect(rendered.get(overlay)?.length).toBeGreaterThan(30);
    expect(fields.get(overlay)).toEqual([]);
  });
});

describe('a mistake', () => {
  it.each(wrongValueNames)('in a value is found: %s', async (_name, spoil) => {
    expect((await wrongValues(spoilt(spoil))).length).toBeGreaterThan(0);
  });

  it.each(wrongFieldNames)('in the name of a field is found: one %s', (name) => {
    expect(fields.get(name)?.join()).toMatch(/does not exist in type|known properties/);
  });
});
