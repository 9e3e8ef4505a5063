import { describe, expect, it } from 'vitest';
import type { InstallableModel } from '../../api/installation-responses.js';
import { emptyInstallForm, installRequestOf, kindsOf, optionText } from './install-form.js';

const model: InstallableModel = {
  id: 'qwen3-4b',
  name: 'Qwen3 4B',
  kind: 'chat',
  origin: 'open',
  about: 'Chats.',
  license: 'Apache-2.0',
  sizeBytes: 4_480_000_000,
  gated: false,
  installed: false,
};

describe('the form that adds a model', () => {
  it('sends what was filled in', () => {
    const form = { ...emptyInstallForm, reference: ' hf:owner/name ', id: 'own', weights: 'int8' };
    expect(installRequestOf(form, 'local')).toEqual({
      reference: 'hf:owner/name',
      id: 'own',
      weights: 'int8',
      pool: 'local',
    });
    expect(installRequestOf({ ...form, id: '', weights: '' }, '')).toEqual({ reference: 'hf:owner/name' });
  });

  it('sends what a decoder is for and how it pools', () => {
    const form = { ...emptyInstallForm, reference: './tiny', purpose: 'embedding', pooling: 'last' };
    expect(installRequestOf(form, '')).toEqual({ reference: './tiny', purpose: 'embedding', pooling: 'last' });
  });

  it('sends only the id of a model of the catalog', () => {
    const form = { ...emptyInstallForm, chosen: 'qwen3-4b', reference: 'hf:owner/name', id: 'own', purpose: 'text' };
    expect(installRequestOf(form, 'local')).toEqual({ reference: 'qwen3-4b', pool: 'local' });
  });

  it('lists models by kind, with size and license', () => {
    expect(kindsOf([model, { ...model, kind: 'asr' }, model])).toEqual(['asr', 'chat']);
    expect(optionText(model)).toBe('Qwen3 4B – 4.5 GB, Apache-2.0');
    expect(optionText({ ...model, sizeBytes: null, installed: true })).toBe('Qwen3 4B – Apache-2.0, installed');
  });
});
