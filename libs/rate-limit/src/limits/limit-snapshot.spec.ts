import { describe, expect, it } from 'vitest';
import { everything, type LimitOverride, plainRequests } from './limit-override.js';
import { LimitSnapshot } from './limit-snapshot.js';
import { limitClasses, limitClassOf, limitTable } from './limit-table.js';

const none = { requests: null, tokens: null };
const standing = { plain: { requests: 100, tokens: null }, key: none, installation: none };
const caller = { accountId: 'a', tier: 'default' } as const;
const small = { modelId: 'm', limitClass: 'S' } as const;

const set = (override: Partial<LimitOverride>): LimitOverride => ({
  accountId: 'a',
  apiKeyId: null,
  target: everything,
  ...none,
  ...override,
});
const pageOf = (...overrides: Partial<LimitOverride>[]) => new LimitSnapshot(overrides.map(set), standing);

describe('the table of limits', () => {
  it('has the documented values', () => {
    const rows = limitClasses.map((name) => {
      const { default: own, partner } = limitTable[name];
      return [name, own.requests, own.tokens, partner.requests, partner.tokens];
    });
    expect(rows).toEqual([
      ['XS', 500, 1_000_000, 500, 2_000_000],
      ['S', 75, 750_000, 150, 1_500_000],
      ['M', 50, 750_000, 100, 1_500_000],
      ['L', 20, 500_000, 60, 1_000_000],
      ['image', 20, null, 60, null],
      ['audio', 60, null, 120, null],
      ['embedding', 500, null, 500, null],
      ['video_queue', 40, null, 40, null],
      ['retrieve', 120, null, 120, null],
      ['rpc', 100, null, 1_000, null],
    ]);
  });

  it('has a class for every type of model, and text models that of their tier', () => {
    const classOf = (type: Parameters<typeof limitClassOf>[0]['type']) => limitClassOf({ type, tier: 'M' });
    const types = ['text', 'image', 'inpaint', 'upscale', 'asr', 'tts', 'music', 'embedding', 'video'] as const;
    expect(types.map(classOf)).toEqual([
      'M',
      'image',
      'image',
      'image',
      'audio',
      'audio',
      'audio',
      'embedding',
      'video_queue',
    ]);
  });
});

describe('the effective limits', () => {
  it('are those of the tier without an override', () => {
    const page = pageOf();
    expect(page.ofModel(caller, small)).toEqual({ requests: 75, tokens: 750_000 });
    expect(page.ofModel({ ...caller, tier: 'partner' }, small)).toEqual({ requests: 150, tokens: 1_500_000 });
    expect(page.ofPlainRequests('a')).toEqual({ requests: 100, tokens: null });
    expect(page.ofKey('k')).toEqual(none);
    expect(page.ofInstallation()).toEqual(none);
  });

  it('are those of the narrowest override, requests and tokens separately', () => {
    const page = pageOf(
      { requests: 1, tokens: 10 },
      { target: 'S', requests: 2, tokens: 20 },
      { target: 'model:m', requests: 3 },
    );
    expect(page.ofModel(caller, small)).toEqual({ requests: 3, tokens: 20 });
    expect(page.ofModel(caller, { ...small, modelId: 'other' })).toEqual({ requests: 2, tokens: 20 });
    expect(page.ofModel(caller, { modelId: 'other', limitClass: 'L' })).toEqual({ requests: 1, tokens: 10 });
    expect(page.ofModel({ ...caller, accountId: 'b' }, small)).toEqual({ requests: 75, tokens: 750_000 });
  });

  it('count no tokens where the table does not', () => {
    const page = pageOf({ requests: 7, tokens: 70 });
    expect(page.ofModel(caller, { modelId: 'p', limitClass: 'image' })).toEqual({ requests: 7, tokens: null });
    expect(page.ofPlainRequests('a')).toEqual({ requests: 7, tokens: null });
  });

  it('distinguish running a model from polling its job', () => {
    const page = pageOf({ target: 'model:v', requests: 1 }, { target: 'retrieve', requests: 9 });
    expect(page.ofModel(caller, { modelId: 'v', limitClass: 'video_queue' }).requests).toBe(1);
    expect(page.ofModel(caller, { modelId: 'v', limitClass: 'retrieve' }).requests).toBe(9);
  });

  it('of a key for a model are the narrowest of account, key and installation, requests and tokens separately', () => {
    const page = pageOf(
      { accountId: null, apiKeyId: 'k', requests: 5, tokens: 900_000 },
      { accountId: null, requests: 60, tokens: 50 },
    );
    const limitsOf = (apiKeyId: string, limitClass: 'S' | 'image') =>
      page.narrowestOfModel({ ...caller, apiKeyId }, { modelId: 'm', limitClass });
    expect(limitsOf('k', 'S')).toEqual({ requests: 5, tokens: 50 });
    expect(limitsOf('other', 'S')).toEqual({ requests: 60, tokens: 50 });
    expect(limitsOf('other', 'image')).toEqual({ requests: 20, tokens: null });
    expect(pageOf().narrowestOfModel({ ...caller, apiKeyId: 'k' }, small)).toEqual(pageOf().ofModel(caller, small));
  });

  it('of keys, of the installation and of plain requests have their own overrides', () => {
    const page = pageOf(
      { accountId: null, apiKeyId: 'k', requests: 5 },
      { accountId: null, tokens: 50 },
      { target: plainRequests, requests: 6 },
    );
    expect(page.ofKey('k')).toEqual({ requests: 5, tokens: null });
    expect(page.ofKey('other')).toEqual(none);
    expect(page.ofInstallation()).toEqual({ requests: null, tokens: 50 });
    expect(page.ofPlainRequests('a').requests).toBe(6);
    expect(page.ofModel(caller, small).requests).toBe(75);
  });
});
