import { describe, expect, it } from 'vitest';
import { deterministicManifest } from '#test/deterministic-model';
import { hostLoadOptions } from './load-options.js';

describe('hostLoadOptions', () => {
  const model = { manifest: deterministicManifest('one'), directory: '/models/one' };

  it('takes the settings of the manifest', () => {
    expect(hostLoadOptions(model, { providers: ['cpu'], threads: 3 })).toMatchObject({
      modelId: 'one',
      family: 'decoder',
      slots: 4,
      contextLength: 1_000,
      cacheTokens: 4_000,
      intraOpThreads: 3,
    });
  });

  it('lets the operator set the slots, and sizes the cache to match if the manifest does not', () => {
    const silent = { ...model, manifest: { ...model.manifest, cacheTokens: undefined } };
    expect(hostLoadOptions(silent, { providers: ['cpu'], slots: 2 })).toMatchObject({ slots: 2, cacheTokens: 2_000 });
  });

  it('says how the model reasons, as its manifest does', () => {
    const { manifest } = model;
    const reasoningOf = (changes: Partial<typeof manifest>) =>
      hostLoadOptions({ ...model, manifest: { ...manifest, ...changes } }, { providers: ['cpu'] }).reasoning;
    const silent = { ...manifest.capabilities, supportsReasoning: false };
    expect(reasoningOf({ reasoning: { open: 'a', close: 'b' } })).toEqual({ open: 'a', close: 'b' });
    expect([reasoningOf({}), reasoningOf({ capabilities: silent })]).toEqual(['usual', null]);
  });
});
