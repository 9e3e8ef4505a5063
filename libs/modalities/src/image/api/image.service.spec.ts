import { describe, expect, it } from 'vitest';
import type { ResolvedModel } from '#model-registry';
import { replacementHeaders } from './image.service.js';

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
  it('is named while the model is still there', () => {
    expect(headersOf({ manifest: { id: 'older', deprecation }, deprecation: notice })).toEqual({
      'x-service-deprecated': 'true',
      'x-service-deprecated-replacement': 'younger',
    });
  });

  it('is named, too, once it answers in its place', () => {
    expect(headersOf({ manifest: { id: 'younger' }, resolvedBy: 'remap', deprecation: notice })).toEqual({
      'x-service-deprecated': 'true',
      'x-service-deprecated-replacement': 'younger',
    });
  });

  it('is not named where there is none, and of models that stay nothing is said', () => {
    expect(headersOf({ deprecation: notice })).toEqual({ 'x-service-deprecated': 'true' });
    expect(headersOf({})).toEqual({});
  });
});
