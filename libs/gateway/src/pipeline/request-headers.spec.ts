import { describe, expect, it } from 'vitest';
import { backendHeaders, headerText } from './request-headers.js';

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
