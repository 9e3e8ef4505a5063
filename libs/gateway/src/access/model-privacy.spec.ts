import { describe, expect, it } from 'vitest';
import type { Caller } from '#accounts';
import type { ModelManifest } from '#model-registry/manifest';
import { assertModelPrivacy } from './model-privacy.js';

function safetyClassifier(modelPrivacy: string, type: string, privacy: string): () => void {
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
  ])('lets a key with %s call a model of type %s that is %s', (policy, type, privacy) => {
    expect(safetyClassifier(policy, type, privacy)).not.toThrow();
  });

  it.each([
    ['PRIVATE_TEXT', 'text'],
    ['PRIVATE_TEXT', 'embedding'],
    ['PRIVATE_ONLY', 'text'],
    ['PRIVATE_ONLY', 'image'],
  ])('refuses a key with %s another model of type %s, naming the policy', (policy, type) => {
    expect(safetyClassifier(policy, type, 'anonymized')).toThrow(`is ${policy}; the model a-model`);
  });
});
