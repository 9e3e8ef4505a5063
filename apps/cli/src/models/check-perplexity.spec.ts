import { describe, expect, it } from 'vitest';
import { describeLoss } from './check-perplexity.js';

describe('the loss of a precision', () => {
  it.each([
    [0.05, 0.01, 'small loses 0.0500 ± 0.0100 nats per token against whole: its perplexity is 5.1 % higher'],
    [-0.004, 0.001, 'small gains 0.0040 ± 0.0010 nats per token against whole: its perplexity is 0.40 % lower'],
    [
      0.002,
      0.004,
      'small loses 0.0020 ± 0.0040 nats per token against whole: its perplexity is 0.20 % higher, ' +
        'too little to tell them apart on this text',
    ],
  ])('is said in nats and as perplexity: %d ± %d', (difference, error, line) => {
    expect(describeLoss('small', { beside: 'whole', perplexity: 10, difference, error })).toBe(line);
  });

  it('is nothing between equal models', () => {
    expect(describeLoss('one', { beside: 'one', perplexity: 10, difference: 0, error: 0 })).toContain('too little');
  });
});
