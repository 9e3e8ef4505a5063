import { describe, expect, it } from 'vitest';
import { unpinnedSources } from './pinned-source.js';

const sha256 = 'a'.repeat(64);
const integrity = 'sha512-abc=';
const commit = 'b'.repeat(40);
const named = [{ path: 'model.onnx' }];

describe('unpinnedSources', () => {
  it.each([
    { uri: 'npm:weights@1.0.0', integrity, files: named },
    { uri: 'npm:weights@1.0.0', files: [{ path: 'model.onnx', sha256 }] },
    { uri: `hf:owner/model@${commit}`, files: [] },
    { uri: 'hf:owner/model@main', files: [{ path: 'model.onnx', sha256 }] },
    { uri: 'https://host/model.onnx', integrity, files: named },
    { uri: 'file:/weights', files: [{ path: 'model.onnx', sha256 }] },
  ])('leaves out $uri where its content is pinned', (source) => {
    expect(unpinnedSources({ sources: [source] })).toEqual([]);
  });

  it.each([
    { uri: 'npm:weights@1.0.0', files: named },
    { uri: 'hf:owner/model@main', files: named },
    { uri: 'hf:owner/model', files: [] },
    { uri: `hf:owner/model@${commit}0`, files: [] },
    { uri: 'https://host/folder/', integrity, files: named },
    { uri: 'https://host/model.onnx', files: [{ path: 'a', sha256 }, { path: 'b' }] },
    { uri: 'file:/weights', integrity, files: named },
  ])('names $uri where nothing pins it', (source) => {
    expect(unpinnedSources({ sources: [source] })).toEqual([source.uri]);
  });
});
