import { expect, it } from 'vitest';
import { exampleManifest } from '#test/example-manifest';
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
    supportsReasoning: true,
  };
  const presented = (type: 'text' | 'asr') =>
    presentModel({ ...exampleManifest(), type, capabilities: declared }, { offline: false }).model_spec.capabilities;
  expect(presented('text')).toEqual({
    ...noCapabilities,
    supportsFunctionCalling: true,
    supportsResponseSchema: true,
    supportsTeeAttestation: true,
    supportsReasoning: true,
  });
  expect(presented('asr')).toEqual(declared);
});
