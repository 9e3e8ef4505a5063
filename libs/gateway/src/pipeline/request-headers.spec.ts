import { describe, expect, it } from 'vitest';
import type { ResolvedModel } from '#model-registry';
import { replacementHeaders } from './request-headers.js';

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
