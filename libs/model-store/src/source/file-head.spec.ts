import { describe, expect, it } from 'vitest';
import { FileHead, HeadBudget } from './file-head.js';

describe('the head of a file in a package', () => {
  it('gives the bytes that went by, however they came', async () => {
    const head = new FileHead('a.gguf', 6, new HeadBudget());
    for (const part of ['ab', 'c', 'def']) head.add(Buffer.from(part));
    for (const [position, length, text] of [
      [0, 6, 'abcdef'],
      [1, 3, 'bcd'],
      [6, 0, ''],
    ] as const) {
      expect(Buffer.from(await head.read(position, length)).toString()).toBe(text);
    }
    await expect(head.read(4, 3)).rejects.toThrow('The header of a.gguf is longer than 6 bytes.');
  });

  it('holds no more than all heads of the package may', async () => {
    const budget = new HeadBudget(10);
    const [first, second] = ['a.gguf', 'b.gguf'].map((name) => new FileHead(name, 8, budget));
    for (const head of [first, second]) head?.add(Buffer.from('12345678'));
    expect(await first?.read(0, 8)).toHaveLength(8);
    expect(await second?.read(0, 2)).toHaveLength(2);
    await expect(second?.read(0, 3)).rejects.toThrow('b.gguf was not read: its package holds too many GGUF files');
  });
});
