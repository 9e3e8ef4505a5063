import { describe, expect, it } from 'vitest';
import type { ResolvedModel } from '#model-registry';
import { backendHeaders, headerText, replacementHeaders } from './request-headers.js';

describe('a header text', () => {
  it.each([
    ['U²-Net', 'U2-Net'],
    ['Café ①', 'Cafe 1'],
    ['小模型', '%E5%B0%8F%E6%A8%A1%E5%9E%8B'],
    ['a\r\nb', 'a%0D%0Ab'],
    ['\ud800', '%EF%BF%BD'],
  ])('is printable ASCII: %j becomes %j', (text, expected) => {
    expect(headerText(text)).toBe(expected);
  });
});

describe('the headers of a run', () => {
  it('name the worker, and the retries if there were any', () => {
    expect(backendHeaders({ servedBy: 'gpu-a/1', retries: 0 })).toEqual({ 'x-service-model-router': 'gpu-a/1' });
    expect(backendHeaders({ servedBy: null, retries: 2 })).toEqual({ 'x-retry-count': '2' });
  });
});

const deprecation = { autoRemap: true, date: '2026-12-01', removesAt: '2026-12-01', replacementModelId: 'younger' };
const notice = { warning: 'The model older will be removed.', date: '2026-12-01' };

function headersOf(changes: object): Record<string, string> {
  return replacementHeaders({
    manifest: { id: 'older' },
    resolvedBy: 'id',
    deprecation: null,
    ...changes,
  } as ResolvedModel);
}

describe('the successor of a model', () => {
  it('is named while the model still exists', () => {
    expect(headersOf({ manifest: { id: 'older', deprecation }, deprecation: notice })).toEqual({
      'x-service-deprecated': 'true',
      'x-service-deprecated-replacement': 'younger',
    });
  });

  it('is also named once it replaces the model', () => {
    expect(headersOf({ manifest: { id: 'younger' }, resolvedBy: 'remap', deprecation: notice })).toEqual({
      'x-service-deprecated': 'true',
      'x-service-deprecated-replacement': 'younger',
    });
  });

  it('is omitted if there is none or the model stays', () => {
    expect(headersOf({ deprecation: notice })).toEqual({ 'x-service-deprecated': 'true' });
    expect(headersOf({})).toEqual({});
  });
});
