import { expect, it } from 'vitest';
import { exampleManifest } from '#test/example-manifest';
import type { ModelManifest } from './manifest.js';
import { noCapabilities } from './capabilities.schema.js';
import { presentModel } from './model.presenter.js';

it('declares only implemented capabilities of a text model, whatever its manifest declares', () => {
  const declared = {
    ...noCapabilities,
    supportsFunctionCalling: true,
    supportsResponseSchema: true,
    supportsVision: true,
    supportsMultipleImages: true,
    supportsAudioInput: true,
    supportsVideoInput: true,
    supportsTeeAttestation: true,
    supportsE2EE: true,
    supportsWebSearch: true,
    supportsXSearch: true,
    supportsReasoning: true,
  };
  const presented = (type: 'text' | 'asr') =>
    presentModel({ ...exampleManifest(), type, capabilities: declared }, { offline: false }).model_spec.capabilities;
  expect(presented('text')).toEqual({
    ...noCapabilities,
    supportsFunctionCalling: true,
    supportsResponseSchema: true,
    supportsReasoning: true,
  });
  const never = {
    supportsTeeAttestation: false,
    supportsE2EE: false,
    supportsWebSearch: false,
    supportsXSearch: false,
  };
  expect(presented('asr')).toEqual({ ...declared, ...never });
});

it('declares web search where a provider is configured, for models that follow instructions or say so', () => {
  const searches = (manifest: Partial<ModelManifest>, canSearch: boolean) =>
    presentModel({ ...exampleManifest(), type: 'text', ...manifest }, { offline: false, canSearch }).model_spec
      .capabilities.supportsWebSearch;
  const saysSo = { capabilities: { ...noCapabilities, supportsWebSearch: true } };
  expect(searches({ traits: { instruct: 1 } }, true)).toBe(true);
  expect(searches({ traits: {}, ...saysSo }, true)).toBe(true);
  expect(searches({ traits: {} }, true)).toBe(false);
  expect(searches({ traits: { instruct: 1 }, ...saysSo }, false)).toBe(false);
  expect(searches({ type: 'asr', ...saysSo }, true)).toBe(false);
});

it('declares x search where the provider of its manifest is configured', () => {
  const searchesX = (manifest: Partial<ModelManifest>, canSearchX: boolean) =>
    presentModel({ ...exampleManifest(), ...manifest }, { offline: false, canSearchX }).model_spec.capabilities
      .supportsXSearch;
  expect(searchesX({ type: 'text' }, true)).toBe(true);
  expect(searchesX({ type: 'text' }, false)).toBe(false);
  expect(searchesX({ type: 'asr' }, true)).toBe(false);
});

it('lists voice cloning for families that clone voices only', () => {
  const kindMembers = { voices: ['a'], voice_cloning: { mode: 'zero_shot' } };
  const specOf = (family: string) =>
    presentModel({ ...exampleManifest(), type: 'tts', family, kindMembers }, { offline: false }).model_spec;
  expect(specOf('kokoro')).toMatchObject({ voices: ['a'] });
  expect(specOf('kokoro')).not.toHaveProperty('voice_cloning');
  expect(specOf('voice-cloning')).toMatchObject(kindMembers);
});
