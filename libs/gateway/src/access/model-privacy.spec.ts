import { describe, expect, it } from 'vitest';
import type { Caller } from '#accounts';
import type { ModelManifest } from '#model-registry/manifest';
import { assertModelPrivacy } from './model-privacy.js';

function checking(modelPrivacy: string, type: string, privacy: string): () => void {
  const caller = { modelPrivacy } as Caller;
  return () => assertModelPrivacy(caller, { id: 'a-model', type, privacy } as ModelManifest);
}

describe('assertModelPrivacy', () => {
  it.each([
    ['ALL', 'text', 'anonymized'],
    ['ALL', 'image', 'anonymized'],
    ['PRIVATE_TEXT', 'text', 'private'],
    ['PRIVATE_TEXT', 'image', 'anonymized'],
    ['PRIVATE_ONLY', 'video', 'private'],
  ])('allows a key with %s to call a model of type %s that is %s', (policy, type, privacy) => {
    expect(checking(policy, type, privacy)).not.toThrow();
  });

  it.each([
    ['PRIVATE_TEXT', 'text'],
    ['PRIVATE_TEXT', 'embedding'],
    ['PRIVATE_ONLY', 'text'],
    ['PRIVATE_ONLY', 'image'],
  ])('rejects, for a key with %s, another model of type %s and names the policy', (policy, type) => {
    expect(checking(policy, type, 'anonymized')).toThrow(`is ${policy}; the model a-model`);
  });
});
