import { describe, expect, it } from 'vitest';
import { addAmounts, decimalOf, formatMoney, formatNanos, parseNanos, toPlotValue } from './money.js';

describe('an amount', () => {
  it.each([
    ['0', '$0.00'],
    ['0.000031200', '$0.0000312'],
    ['0.000000001', '$0.000000001'],
    ['1234567.5', '$1,234,567.50'],
    ['-12.345', '−$12.345'],
    ['9007199254740993.000000001', '$9,007,199,254,740,993.000000001'],
  ])('%s is shown to its last digit as %s', (amount, text) => {
    expect(formatMoney(amount)).toBe(text);
  });

  it('of another currency names it', () => {
    expect(formatMoney('0.5', 'DIEM')).toBe('0.50 DIEM');
  });

  it('that is missing is a dash', () => {
    expect(formatMoney(null)).toBe('–');
    expect(formatMoney(undefined)).toBe('–');
  });

  it.each(['', '1e-7', '1.0000000001', 'NaN', '1,5', ' 1'])('is not %j', (text) => {
    expect(() => parseNanos(text)).toThrow(`${JSON.stringify(text)} is no amount.`);
  });

  it('is read back as it was written', () => {
    for (const nanos of [0n, 1n, -1n, 999_999_999n, -1_000_000_001n, 12_345_678_901_234_567_890n]) {
      expect(parseNanos(formatNanos(nanos))).toBe(nanos);
    }
  });
});

describe('amounts', () => {
  it('are added without rounding, where floating-point numbers would round', () => {
    expect(addAmounts('0.1', '0.2')).toBe('0.300000000');
    expect(addAmounts('9007199254740993', '0.000000001', '-1')).toBe('9007199254740992.000000001');
    expect(addAmounts()).toBe('0.000000000');
  });
});

describe('a number of JSON', () => {
  it.each([
    [0, '0'],
    [0.0000312, '0.0000312'],
    [7e-7, '0.0000007'],
    [1e-9, '0.000000001'],
    [-2.5e-8, '-0.000000025'],
    [12.5, '12.5'],
    [1e21, '1000000000000000000000'],
    [1.25e21, '1250000000000000000000'],
    [0.1 + 0.2, '0.300000000'],
  ])('%d is the amount %s', (value, amount) => {
    expect(decimalOf(value)).toBe(amount);
    expect(() => parseNanos(decimalOf(value))).not.toThrow();
  });
});

describe('the height of a bar', () => {
  it('is close to the amount', () => {
    expect(toPlotValue('1.500000000')).toBe(1.5);
  });
});
