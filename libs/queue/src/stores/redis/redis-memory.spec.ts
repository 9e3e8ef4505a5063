import { describe, expect, it } from 'vitest';
import { RedisMemory } from './redis-memory.js';

describe('RedisMemory', () => {
  const isFull = (room: RedisMemory, usedMemoryBytes: number, maxMemoryBytes = 100) => {
    room.note({ usedMemoryBytes, maxMemoryBytes });
    return room.problem() !== null;
  };

  it('reserves the last tenth for running jobs', () => {
    const room = new RedisMemory();
    expect(isFull(room, 89)).toBe(false);
    expect(isFull(room, 90)).toBe(true);
    expect(room.problem()).toContain('90 % of its maxmemory');
  });

  it('shows its memory only if it is limited', () => {
    const room = new RedisMemory();
    expect(room.limited).toBe(null);
    room.note({ usedMemoryBytes: 5, maxMemoryBytes: 0 });
    expect(room.limited).toBe(null);
    room.note({ usedMemoryBytes: 5, maxMemoryBytes: 100 });
    expect(room.limited).toEqual({ usedBytes: 5, limitBytes: 100 });
  });

  it('accepts work again only with some margin', () => {
    const room = new RedisMemory();
    const states = [90, 86, 89, 84, 86, 89, 90].map((used) => isFull(room, used));
    expect(states).toEqual([true, true, true, false, false, false, true]);
  });

  it('has capacity without a limit', () => {
    const room = new RedisMemory();
    expect(isFull(room, 10_000_000_000, 0)).toBe(false);
    expect(room.share).toBe(0);
    expect(isFull(room, 95)).toBe(true);
    expect(isFull(room, 95, 0)).toBe(false);
  });
});
