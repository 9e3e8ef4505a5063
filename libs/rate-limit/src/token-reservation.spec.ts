import { describe, expect, it } from 'vitest';
import type { Logger } from '#platform/logging';
import { testDouble } from '#test/test-double';
import { TokenCorrector, TokenReservation } from './token-reservation.js';

function reserve() {
  const given = { back: 0 };
  return { given, reservation: new TokenReservation(7, 100, () => void (given.back += 1)) };
}

describe('TokenReservation', () => {
  it('is refunded once nothing holds it', () => {
    const { given, reservation } = reserve();
    reservation.release();
    expect(given.back).toBe(1);
    expect(reservation.hold()).toBe(false);
  });

  it('stays while an admission or a job holds it, whatever becomes of the request', () => {
    const { given, reservation } = reserve();
    expect(reservation.hold()).toBe(true);
    reservation.release();
    expect(given.back).toBe(0);
  });

  it('survives failed admissions as long as the request lives', () => {
    const { given, reservation } = reserve();
    for (let tries = 0; tries < 3; tries += 1) {
      expect(reservation.hold()).toBe(true);
      reservation.release();
    }
    expect(given.back).toBe(0);
    reservation.release();
    expect(given.back).toBe(1);
  });
});

describe('TokenCorrector', () => {
  const job = { accountId: 'a', apiKeyId: 'k', modelId: 'm' };

  it('changes what was reserved to what was used, in every window of the request', async () => {
    const calls: unknown[] = [];
    const corrector = new TokenCorrector(
      testDouble({ correct: (...call) => Promise.resolve(void calls.push(call)) }),
      testDouble({ warn: () => undefined }),
    );
    await corrector.correct(job, { slot: 7, tokens: 100 }, 30);
    await corrector.correct(job, { slot: 7, tokens: 100 }, 100);
    expect(calls).toEqual([[['model:a:m', 'key:k', 'all'], 7, -70]]);
  });

  it('never rejects', async () => {
    const failures: unknown[] = [];
    const away = { correct: () => Promise.reject(new Error('away')) };
    const logger = { warn: ({ error }: { error?: unknown }) => void failures.push(error) };
    await new TokenCorrector(testDouble(away), logger as Logger).correct(job, { slot: 7, tokens: 100 }, 0);
    expect(failures).toHaveLength(1);
  });
});
