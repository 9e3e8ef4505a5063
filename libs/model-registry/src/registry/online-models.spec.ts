import { expect, it } from 'vitest';
import { exampleManifest } from '#test/example-manifest';
import { noCapabilities } from '../manifest/capabilities.schema.js';
import { presentModel } from '../manifest/model.presenter.js';
import { MembershipOnlineModels } from './online-models.js';

const replica = (provider: string | null, state = 'ready') => ({
  models: [{ modelId: 'm', state, ...(provider !== null && { tee: { provider } }) }],
});

it.each([
  ['every worker has evidence', [replica('tdx'), replica('sev-snp')], true],
  ['a worker has none, which any job may meet', [replica('tdx'), replica(null)], false],
  ['a worker has a key without evidence', [replica('tdx'), replica('software')], false],
  ['the only key is of software', [replica('software')], false],
  ['the worker without evidence is not ready', [replica('tdx'), replica(null, 'draining')], true],
  ['no worker serves the model', [], false],
])('a model is attested if %s: %s', (_, processes, isAttested) => {
  expect(new MembershipOnlineModels(() => processes).isAttested('m')).toBe(isAttested);
});

it.each([true, false])('the capability says whether it is, whatever the manifest claims: %s', (isAttested) => {
  for (const claimed of [true, false]) {
    const capabilities = { ...noCapabilities, supportsTeeAttestation: claimed };
    const { model_spec: spec } = presentModel({ ...exampleManifest(), capabilities }, { offline: false, isAttested });
    expect(spec.capabilities.supportsTeeAttestation).toBe(isAttested);
  }
});
