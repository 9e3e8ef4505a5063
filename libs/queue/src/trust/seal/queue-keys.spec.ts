import { describe, expect, it } from 'vitest';
import { keysOfModels, QueueKeys } from './queue-keys.js';

const [older, newer] = ['ab'.repeat(32), 'cd'.repeat(32)] as const;

describe('QueueKeys', () => {
  it('opens the jobs of its models and no others', () => {
    const all = new QueueKeys([older]);
    const some = new QueueKeys(keysOfModels([older], ['a', 'b']));
    for (const modelId of ['a', 'b']) {
      expect(some.sealOf(modelId)?.open('job', all.sealOf(modelId)?.seal('job', 'text') ?? '')).toBe('text');
      expect(all.sealOf(modelId)?.open('job', some.sealOf(modelId)?.seal('job', 'text') ?? '')).toBe('text');
    }
    expect(some.sealOf('c')).toBeNull();
    expect(() => some.sealOf('a')?.open('job', all.sealOf('c')?.seal('job', 'text') ?? '')).toThrow('cannot read');
    expect(some.models).toEqual(['a', 'b']);
    expect(all.models).toBeNull();
  });

  it('has no key of the installation in a key of a model', () => {
    expect(keysOfModels([older], ['a']).join()).not.toContain(older);
  });

  it('opens what any of its keys sealed while the key is changed', () => {
    const during = new QueueKeys(keysOfModels([newer, older], ['a']));
    for (const key of [older, newer]) {
      const sealed = new QueueKeys([key]).sealOf('a')?.seal('job', key) ?? '';
      expect(during.sealOf('a')?.open('job', sealed)).toBe(key);
    }
  });

  it('is empty without keys', () => {
    expect(new QueueKeys([]).isEmpty).toBe(true);
    expect(new QueueKeys([]).models).toBeNull();
    expect(new QueueKeys([]).sealOf('a')).toBeNull();
  });
});
