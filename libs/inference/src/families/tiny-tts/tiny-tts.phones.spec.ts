import { describe, expect, it } from 'vitest';
import { tinyTtsSymbols } from './tiny-tts.phones.js';

describe('tinyTtsSymbols', () => {
  it('writes lower-case phones with the tone of their stress, and known marks', () => {
    const symbols = tinyTtsSymbols([
      { word: 'vivid', phones: ['V', 'IH1', 'V', 'IH0', 'D'] },
      { mark: ';' },
      { mark: '(' },
      { word: 'go', phones: ['G', 'OW2'] },
      { mark: '!' },
    ]);
    expect(symbols.map(({ symbol, tone }) => `${symbol}${tone}`)).toEqual([
      'V0',
      'ih2',
      'V0',
      'ih1',
      'd0',
      ',0',
      'g0',
      'ow3',
      '!0',
    ]);
  });
});
